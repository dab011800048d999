package expr_test

import "testing"

func TestLexing(t *testing.T) { // semantics/pipeline §3.2, by rule
	t.Parallel()
	interpolate(t, []row{
		// 1: nesting
		{text: "<+<+<+<+pipeline.variables.v>>>>", want: `"ABC"`},
		{text: "<+<+<+pipeline.variables.v>.toLowerCase()>.length()>", want: `3`},
		// 2: strings
		{text: `<+"a>b">`, want: `"a>b"`},
		{text: `<+'a>b'>`, want: `"a>b"`},
		{text: `<+"a\"b">`, want: `"a\"b"`},
		{text: `<+'it\'s'>`, want: `"it's"`},
		{text: `<+"it's">`, want: `"it's"`},
		{text: `<+"a\nb\tc\\d\u0041\d\.">`, want: `"a\nb\tc\\dA\\d\\."`},
		{text: `<+"">`, want: `""`},
		{text: `<+"\u00">`, want: `"\\u00"`},
		{text: `<+pipeline.variables.path.replace("srv","<+pipeline.variables.v>")>`, want: `"/ABC/www"`},
		{text: `<+<+pipeline.variables.env> =~ ["<+stage.name>","dev"]>`, want: `true`},
		{text: `<+"a<+pipeline.variables.n>b<+pipeline.variables.n>">`, want: `"a2b2"`},
		{text: `<+"<+pipeline.variables.n>">`, want: `"2"`},
		{text: `<+"<+pipeline.variables.quote>" + "!">`, want: `"it's \"so\"!"`}, // no quote injection
		{text: `<+"x > y">`, want: `"x > y"`},
		{text: `<+"<+<+pipeline.variables.n> > 1 ? "big" : "small">">`, want: `"big"`},
		// 3: greater than
		{text: `<+<+pipeline.variables.n> > 1>`, want: `true`},
		{text: `<+pipeline.variables.n > 1>`, want: `true`},
		{text: `<+pipeline.variables.n > 1 ? "a" : "b">`, want: `"a"`},
		{text: `<+<+pipeline.variables.n> >= 2>`, want: `true`},
		{text: `<+<+pipeline.variables.n>>=2>`, want: `true`},
		{text: `<+pipeline.variables.n>=2>`, want: `true`},
		{text: `<+<+pipeline.variables.v>=="ABC">`, want: `true`},
		{text: `<+<+pipeline.variables.v>=~"A.*">`, want: `true`},
		{text: `<+<+pipeline.variables.v>=^"A">`, want: `true`},
		{text: `<+<+pipeline.variables.v>=$"C">`, want: `true`},
		{text: `<+<+pipeline.variables.n> gt 1>`, want: `true`},
		{text: `<+ pipeline.name > <+pipeline.sequenceId>`, want: `"Shop 7"`},
		{text: `echo <+pipeline.name> > f; echo <+pipeline.sequenceId> > g`, want: `"echo Shop > f; echo 7 > g"`},
		{text: `echo <+ pipeline.name > out.txt`, want: `"echo Shop out.txt"`},
		{text: "a <+ pipeline.name > b\nfoo > bar", want: `"a Shop b\nfoo > bar"`}, // the guess fails to parse, the second try does
		{text: `export <+pipeline.name>=value; echo <+pipeline.sequenceId>`, want: `"export Shop=value; echo 7"`},
		{text: "<+pipeline.name>=value\necho > f", want: `"Shop=value\necho > f"`},
		{text: `<+pipeline.name>>file`, want: `"Shop>file"`},
		{text: `<+pipeline.name>=<+pipeline.sequenceId>`, want: `"Shop=7"`},
		{text: `<+1 < 2>`, want: `true`},
		{text: `<+1 <= 2>`, want: `true`},
		{text: `<+pipeline.variables.n<3>`, want: `true`},
		// 4: splices
		{text: `<+pipeline.stages.build.spec.execution.steps.s1<+strategy.identifierPostFix>.output.outputVariables.x>`, want: `"out 0"`},
		{text: `<+execution.steps.s1<+strategy.identifierPostFix>.output.outputVariables.x.toUpperCase()>`, want: `"OUT 0"`},
		{text: `<+pipeline.stages.<+pipeline.variables.stage>.status>`, want: `"SUCCEEDED"`},
		{text: `<+pipeline.stages.<+pipeline.variables.stage>_0.variables.x>`, want: `"from build_0"`},
		{text: `<+pipeline.stages.<+"bu"><+"ild">.name>`, want: `"Build"`},
		{text: `<+<+"pipe">line.name>`, want: `"Shop"`},
		{text: `<+<+"pipeline.variables.">v>`, want: `"ABC"`},
		{text: `<+<+"pipeline"><+".name">>`, want: `"Shop"`},
		{text: `<+pipeline.<+"variables.v">>`, want: `"ABC"`},
		{text: `<+serviceVariables["<+"a">.b"]>`, want: `"sv dotted"`}, // in quotes a dot is no separator
		{text: `<+<+matrix.service>.name>`, want: `"svc1"`},
		{text: `<+<+matrix.service>.<+"na">me>`, want: `"svc1"`},
		// 5: methods with and without brackets of their own
		{text: `<+pipeline.variables.v.toLowerCase()>`, want: `"abc"`},
		{text: `<+<+pipeline.variables.v>.toLowerCase()>`, want: `"abc"`},
		{text: `<+pipeline.sequenceId.toString()>`, want: `"7"`},
		{text: `<+pipeline.variables.list.split(',')[1].toUpperCase()>`, want: `"B"`},
		{text: `<+trigger.payload.k[2].d>`, want: `true`},
		{text: `<+trigger.payload["ref"]>`, want: `"refs/heads/main"`},
		{text: `<+trigger.header['X-Event']>`, want: `"push"`},
		{text: `<+serviceVariables.get("a.b")>`, want: `"sv dotted"`},
		{text: `<+serviceVariables.get('a.b').toUpperCase()>`, want: `"SV DOTTED"`},
		{text: `<+pipeline.variables["my-var"]>`, want: `"dashed"`},
		{text: `<+<+artifact.label>.get("com.x.owner")>`, want: `"ada"`},
		{text: `<+strategy.node.canary.currentStatus>`, want: `"SUCCESS"`},
		{text: `<+strategy.node.get("canary").currentStatus>`, want: `"SUCCESS"`},
		{text: `<+issue."Field Name">`, want: `"spaced field"`},
		{text: `<+approval.approvalActivities[0].user.name>`, want: `"ada"`},
		{text: `<+approval.approvalActivities.get(0).comments>`, want: `"ok"`},
		{text: `<+var.get('get')>`, want: `"var"`},
		{text: `<+trigger.payload.k.2.d>`, want: `true`},
		// 6: spaces
		{text: `<+  pipeline.variables.v  >`, want: `"ABC"`},
		{text: "<+\n  pipeline.variables.v\n>", want: `"ABC"`},
		{text: `<+ <+ pipeline.variables.v > == "ABC" ? "y" : "n" >`, want: `"y"`},
		{text: `<+<+pipeline.variables.v>=="ABC"?"y":"n">`, want: `"y"`},
		{text: `<+<+pipeline.variables.v> == "ABC" ? <+pipeline.name>:<+pipeline.sequenceId>>`, want: `"Shop"`},
		{text: "<+\u00a0pipeline.variables.v>", want: `"ABC"`},
		// 7: typographic quotes
		{text: `<+<+pipeline.variables.v> == “ABC”>`, want: `true`},
		{text: `<+<+pipeline.variables.v>.replace(‘B’, ”x”)>`, want: `"AxC"`},
		{text: `<+"said ”so”">`, want: `"said ”so”"`},
		{text: `<+“abc">`, want: `"abc"`},
	})
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	interpolate(t, []row{
		{text: `<+>`, err: "empty"},
		{text: `<+ >`, err: "empty"},
		{text: `a <+pipeline.name`, err: "never closed"},
		{text: `<+"abc>`, err: "string is never closed"},
		{text: `<+pipeline.name = "x">`, err: "equality is =="},
		{text: `<+"a" in ["a"]>`, err: "=~ [a, b]"},
		{text: `<+pipeline.>`, err: "a name is expected after the dot"},
		{text: `<+1 + >`, err: "a value is expected"},
		{text: `<+(1>`, err: `")" is expected`},
		{text: `<+[1, 2>`, err: `"," or "]" is expected`},
		{text: `<+a b>`, err: `found "b"`},
		{text: `<+a ? b>`, err: `":" is expected`},
		{text: `<+f(1 2)>`, err: `"," or ")" is expected`},
		{text: `<+#>`, err: `found "#"`},
		{text: `<+{1, 2: 3}>`, err: `"," or "}" is expected`},
		{text: `<+a & b>`, err: `found "&"`},
	})
}
