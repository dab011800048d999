// What cdk waits between two looks at a stack is right for an account whose seconds are seconds. Those of a World are
// shorter, and so are the waits.
const wait = setTimeout
globalThis.setTimeout = (f, ms, ...args) => wait(f, ms === 2000 || ms === 5000 ? ms / 50 : ms, ...args)
