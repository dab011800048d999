CREATE TABLE migrations (owner TEXT PRIMARY KEY, done INTEGER NOT NULL);
INSERT INTO migrations VALUES ('asl', 7);
CREATE TABLE asl_definitions (hash TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO asl_definitions VALUES ('48871a0c02235e3f92faf06a49a30739', '{
  "Comment": "Drives one node of an execution''s plan: a container with its children, or a step of a parallel block. The engine decides (Advance); this machine waits, fans out and retries.",
  "StartAt": "Advance",
  "States": {
    "Advance": {
      "Comment": "Ask the engine what comes next. It answers from the stored states, so asking twice is harmless.",
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {
        "FunctionName": "engine",
        "Payload": {
          "op": "advance",
          "execution.$": "$.execution",
          "node.$": "$.node",
          "run.$": "$$.Execution.Name",
          "after.$": "$.next.value.at",
          "event.$": "$.event"
        }
      },
      "ResultSelector": { "value.$": "$.Payload" },
      "ResultPath": "$.next",
      "TimeoutSeconds": 60,
      "Retry": [
        {
          "ErrorEquals": ["Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException", "Lambda.Unknown", "Sandbox.Timedout", "Runtime.ExitError", "States.Timeout", "Slipway.Transient"],
          "IntervalSeconds": 1,
          "BackoffRate": 2,
          "MaxAttempts": 8,
          "MaxDelaySeconds": 30,
          "JitterStrategy": "FULL"
        }
      ],
      "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": "$.event", "Next": "Break" }],
      "Next": "Decide"
    },
    "Decide": {
      "Type": "Choice",
      "Choices": [
        { "Variable": "$.next.value.do", "StringEquals": "await", "Next": "Await" },
        { "Variable": "$.next.value.do", "StringEquals": "children", "Next": "Children" }
      ],
      "Default": "Done"
    },
    "Await": {
      "Comment": "Begin a step''s work, or a wait around it, and stay here until its token is answered.",
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
      "Parameters": {
        "FunctionName": "engine",
        "Payload": {
          "op": "await",
          "execution.$": "$.execution",
          "at.$": "$.next.value.at",
          "token.$": "$$.Task.Token"
        }
      },
      "ResultPath": "$.event",
      "TimeoutSecondsPath": "$.next.value.timeoutSeconds",
      "HeartbeatSecondsPath": "$.next.value.heartbeatSeconds",
      "Retry": [
        {
          "ErrorEquals": ["Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException", "Lambda.Unknown", "Sandbox.Timedout", "Runtime.ExitError", "Slipway.Transient"],
          "IntervalSeconds": 1,
          "BackoffRate": 2,
          "MaxAttempts": 8,
          "MaxDelaySeconds": 30,
          "JitterStrategy": "FULL"
        }
      ],
      "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": "$.event", "Next": "Advance" }],
      "Next": "Advance"
    },
    "Children": {
      "Comment": "Each child has a machine run of its own, so that no run''s history grows with the pipeline.",
      "Type": "Map",
      "ItemsPath": "$.next.value.children",
      "MaxConcurrencyPath": "$.next.value.maxConcurrency",
      "ItemSelector": {
        "execution.$": "$.execution",
        "node.$": "$$.Map.Item.Value.node",
        "name.$": "$$.Map.Item.Value.name"
      },
      "ItemProcessor": {
        "ProcessorConfig": { "Mode": "INLINE" },
        "StartAt": "Child",
        "States": {
          "Child": {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Parameters": {
              "StateMachineArn": "node",
              "Name.$": "$.name",
              "Input": {
                "execution.$": "$.execution",
                "node.$": "$.node",
                "event": {},
                "next": { "value": { "at": {} } }
              }
            },
            "TimeoutSeconds": 31536000,
            "Retry": [
              {
                "ErrorEquals": ["StepFunctions.SdkClientException", "StepFunctions.ThrottlingException"],
                "IntervalSeconds": 1,
                "BackoffRate": 2,
                "MaxAttempts": 8,
                "MaxDelaySeconds": 30,
                "JitterStrategy": "FULL"
              }
            ],
            "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": null, "Next": "Ended" }],
            "ResultPath": null,
            "Next": "Ended"
          },
          "Ended": { "Type": "Pass", "Result": {}, "End": true }
        }
      },
      "ResultPath": "$.event",
      "ResultSelector": {},
      "Next": "Advance"
    },
    "Done": { "Type": "Succeed" },
    "Break": {
      "Comment": "The engine couldn''t decide. The plan must say so before the run fails.",
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Parameters": {
        "FunctionName": "engine",
        "Payload": {
          "op": "break",
          "execution.$": "$.execution",
          "node.$": "$.node",
          "event.$": "$.event"
        }
      },
      "ResultPath": null,
      "TimeoutSeconds": 60,
      "Retry": [
        { "ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "BackoffRate": 2, "MaxAttempts": 10, "MaxDelaySeconds": 300, "JitterStrategy": "FULL" }
      ],
      "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": null, "Next": "Broken" }],
      "Next": "Broken"
    },
    "Broken": { "Type": "Fail", "ErrorPath": "$.event.Error", "CausePath": "$.event.Cause" }
  }
}
');
CREATE TABLE asl_runs ( name TEXT PRIMARY KEY, machine TEXT NOT NULL, status TEXT NOT NULL, input TEXT NOT NULL, output TEXT, error TEXT, cause TEXT, parent TEXT NOT NULL, secret TEXT NOT NULL, started INTEGER NOT NULL , definition TEXT NOT NULL DEFAULT '', ended INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX asl_ended ON asl_runs (ended) WHERE status <> 'RUNNING';
CREATE INDEX asl_running ON asl_runs (status) WHERE status = 'RUNNING';
INSERT INTO asl_runs VALUES ('advancing', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"advancing"}', NULL, NULL, NULL, '', 'LZMSU477GPEH', 1795372095547, '48871a0c02235e3f92faf06a49a30739', 0);
INSERT INTO asl_runs VALUES ('awaiting', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"awaiting"}', NULL, NULL, NULL, '', 'DP5KFO5WME6U', 1795372095554, '48871a0c02235e3f92faf06a49a30739', 0);
INSERT INTO asl_runs VALUES ('breaking', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"breaking"}', NULL, NULL, NULL, '', 'G4UTPD3H5AGS', 1795372095582, '48871a0c02235e3f92faf06a49a30739', 0);
INSERT INTO asl_runs VALUES ('broken', 'node', 'FAILED', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"broken"}', NULL, 'Plan.Missing', 'there is no plan', '', '457TPJFTVG6U', 1795372095585, '48871a0c02235e3f92faf06a49a30739', 1795372095586);
INSERT INTO asl_runs VALUES ('done', 'node', 'SUCCEEDED', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"done"}', '{"event":{},"execution":"x","next":{"value":{"do":"done"}},"node":"done"}', NULL, NULL, '', 'I5ZXCRYV5VCZ', 1795372095586, '48871a0c02235e3f92faf06a49a30739', 1795372095587);
INSERT INTO asl_runs VALUES ('first', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"first"}', NULL, NULL, NULL, 'parent|2|1|SOIGX4VZJ2ZV', 'T5MCL2PSDXDM', 1795372095561, '48871a0c02235e3f92faf06a49a30739', 0);
INSERT INTO asl_runs VALUES ('parent', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"parent"}', NULL, NULL, NULL, '', 'SOIGX4VZJ2ZV', 1795372095561, '48871a0c02235e3f92faf06a49a30739', 0);
INSERT INTO asl_runs VALUES ('retrying', 'node', 'RUNNING', '{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"retrying"}', NULL, NULL, NULL, '', '747QLIGSWWSP', 1795372095548, '48871a0c02235e3f92faf06a49a30739', 0);
CREATE TABLE asl_threads ( run TEXT NOT NULL, id INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id) ) WITHOUT ROWID;
INSERT INTO asl_threads VALUES ('advancing', 1, '{"id":1,"s":"Advance","in":{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"advancing"},"at":1795372095547,"q":1,"w":"task","d":1795372155547,"n":1795372095547}');
INSERT INTO asl_threads VALUES ('awaiting', 1, '{"id":1,"s":"Await","in":{"event":{},"execution":"x","next":{"value":{"at":{"node":"awaiting"},"do":"await","heartbeatSeconds":99999,"timeoutSeconds":99999998}},"node":"awaiting"},"at":1795372095554,"q":2,"w":"token","d":1895372093554,"n":1795372095554,"b":99999000}');
INSERT INTO asl_threads VALUES ('breaking', 1, '{"id":1,"s":"Break","in":{"event":{"Cause":"there is no plan","Error":"Plan.Missing"},"execution":"x","next":{"value":{"at":{}}},"node":"breaking"},"at":1795372095582,"q":2,"w":"task","d":1795372155582,"n":1795372095582}');
INSERT INTO asl_threads VALUES ('first', 1, '{"id":1,"s":"Await","in":{"event":{},"execution":"x","next":{"value":{"at":{"node":"first"},"do":"await","heartbeatSeconds":99999,"timeoutSeconds":99999998}},"node":"first"},"at":1795372095561,"q":2,"w":"token","d":1895372093561,"n":1795372095561,"b":99999000}');
INSERT INTO asl_threads VALUES ('parent', 1, '{"id":1,"s":"Children","in":{"event":{},"execution":"x","next":{"value":{"at":{"node":"parent"},"children":[{"name":"first","node":"first"},{"name":"second","node":"second"}],"do":"children","maxConcurrency":1}},"node":"parent"},"at":1795372095561,"q":2,"w":"branches","l":1}');
INSERT INTO asl_threads VALUES ('parent', 2, '{"id":2,"p":1,"m":true,"item":{"name":"first","node":"first"},"s":"Child","in":{"execution":"x","name":"first","node":"first"},"at":1795372095561,"q":1,"w":"child","d":1826908095561,"n":1795372095561}');
INSERT INTO asl_threads VALUES ('retrying', 1, '{"id":1,"s":"Advance","in":{"event":{},"execution":"x","next":{"value":{"at":{}}},"node":"retrying"},"at":1795372095548,"r":[1],"q":2,"w":"retry","d":1795372095904,"n":1795372095548}');
