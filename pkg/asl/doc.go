// Package asl runs definitions in the Amazon States Language durably on one
// machine: the same files that Step Functions runs on AWS.
//
// It covers the part of the language that Slipway's definitions use, to the
// letter of the specification (https://states-language.net/spec.html), with
// JSONPath as the query language, and refuses the rest when a definition is
// loaded. Where the specification leaves something open, it does as Step
// Functions does. It knows nothing of pipelines. What is claimed, each with
// its cases in testdata/conformance:
//
//   - All eight types of states. Of a machine: Comment, Version 1.0,
//     QueryLanguage JSONPath, StartAt, States.
//   - InputPath, OutputPath, Parameters, ResultSelector, ResultPath, Result.
//   - Task: lambda:invoke, with or without waitForTaskToken, with FunctionName
//     and Payload; states:startExecution.sync:2 with StateMachineArn, Name and
//     Input; TimeoutSeconds, HeartbeatSeconds and their Paths.
//   - Retry with all its fields, Catch with ErrorEquals, ResultPath and Next.
//   - Choice: all comparisons, those that end in Path too, And, Or and Not.
//   - Wait: Seconds, Timestamp and their Paths. Fail: Error, Cause and theirs.
//   - Map inline: ItemProcessor, ItemsPath, ItemSelector (or Parameters),
//     MaxConcurrency and its Path, 40 items at once at most. Parallel.
//   - Reference paths: keys after dots or in brackets, indices, and the same
//     below $$: Execution, State, StateMachine, Task and Map.
//   - The functions Format, Array, ArrayLength, ArrayGetItem, JsonToString,
//     StringToJson, JsonMerge and MathAdd, ten within each other at most.
//   - States.ALL, States.TaskFailed, States.Timeout, States.Runtime,
//     States.DataLimitExceeded, States.NoChoiceMatched,
//     States.ResultPathMatchFailure and States.IntrinsicFailure; the errors of
//     functions by the names that Lambda gives them. 256 KiB for every input,
//     output and result.
//
// Three things differ from AWS. Ids are names, not ARNs. The fields of an
// object are in the order of their names, not as they came, where an object
// becomes text. A run has no history of events, so 25,000 of them don't end it.
package asl
