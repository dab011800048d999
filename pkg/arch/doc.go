// Package arch holds no code: its tests keep the promises that span packages.
// They check who may import whom, that every package says what it is for, and
// that what is asked of the store is written down.
package arch
