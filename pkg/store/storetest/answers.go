package storetest

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

func answerCases() []testCase {
	return []testCase{
		{"the first answer stays", putAnswer},
		{"one of many answers is the first", raceAnswer},
		{"an expired answer is gone and its key is free", expiredAnswer},
	}
}

func (b *bench) answer(body string) store.Answer {
	return store.Answer{Key: b.id("key"), RequestHash: []byte("\x00hash"), Status: 201, Body: []byte(body), Expires: at(60)}
}

func putAnswer(b *bench) {
	_, err := b.Store.Answer(b.ctx(), b.id("key"), at(0))
	b.refused(err, fault.NotFound)
	got, first, err := b.Store.PutAnswer(b.ctx(), b.answer("one"))
	b.ok(err)
	same(b, "kept", b.answer("one"), got)
	same(b, "first", true, first)
	got, first, err = b.Store.PutAnswer(b.ctx(), b.answer("two"))
	b.ok(err)
	same(b, "kept after the second", b.answer("one"), got)
	same(b, "first", false, first)
	got, err = b.Store.Answer(b.ctx(), b.id("key"), at(59))
	b.ok(err)
	same(b, "read", b.answer("one"), got)
}

func raceAnswer(b *bench) {
	bodies, firsts := make([]string, racers), 0
	first := make([]bool, racers)
	b.allSucceed(func(i int) error {
		got, mine, err := b.Store.PutAnswer(b.ctx(), b.answer(fmt.Sprint(i)))
		bodies[i], first[i] = string(got.Body), mine
		return err
	})
	for i, mine := range first {
		same(b, "the answer that a racer saw", bodies[0], bodies[i])
		if mine {
			firsts++
			same(b, "the answer of the first", fmt.Sprint(i), bodies[i])
		}
	}
	same(b, "firsts", 1, firsts)
}

func expiredAnswer(b *bench) {
	_, _, err := b.Store.PutAnswer(b.ctx(), b.answer("one"))
	b.ok(err)
	_, err = b.Store.Answer(b.ctx(), b.id("key"), at(60))
	b.refused(err, fault.NotFound)
	got, first, err := b.Store.PutAnswer(b.ctx(), b.answer("two"))
	b.ok(err)
	same(b, "kept", b.answer("two"), got)
	same(b, "first", true, first)
}
