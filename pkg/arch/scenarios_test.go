package arch_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stillOpen is how many scenarios nobody has tried yet: fewer with each that is.
const stillOpen = 0

// scenarios are what each strategy of a deployment to AWS has to stand. After each
// there is what was there before, or what was wanted.
func scenarios() []string {
	return []string{
		"first deployment", "update", "nothing differs", "what is deployed doesn't come up", "circuit breaker", "denied in the middle", "throttled",
		"delivered twice", "killed at every call", "abort", "timeout", "rollback of the first", "rollback after another deployment",
	}
}

// tried says where a strategy is tried in a scenario: "FILE: TEST; ..." in the
// lane's folder of delegate. A "-" says why there is nothing to try, an "open" what
// nobody has tried yet.
func tried() map[string]map[string]string {
	ecs := map[string]string{
		"nothing differs": "rolling_test.go: TestForce", "what is deployed doesn't come up": "rolling_test.go: TestCircuitBreaker", "circuit breaker": "rolling_test.go: TestCircuitBreaker",
		"denied in the middle": "trial_test.go: TestEachStrategy", "throttled": "trial_test.go: TestEachStrategy", "delivered twice": "trial_test.go: TestEachStrategy",
		"abort": "trial_test.go: TestEachStrategy", "timeout": "killed_test.go: TestStopped", "killed at every call": "trial_test.go: TestKilledAtEveryCall",
		"rollback after another deployment": "later_test.go: TestRollbackAfterAnotherDeployment",
	}
	asg := map[string]string{
		"nothing differs": "trial_test.go: TestNothingDiffers", "what is deployed doesn't come up": "rolling_test.go: TestRefreshFails; refresh_test.go: TestSteadyStateWithoutARefresh",
		"circuit breaker": "- Auto Scaling groups have none", "denied in the middle": "trial_test.go: TestEachStrategy", "throttled": "trial_test.go: TestEachStrategy",
		"delivered twice":      "trial_test.go: TestEachStrategy; killed_test.go: TestDeliveredAgainAfterTheRefresh; killed_test.go: TestLostAnswers",
		"killed at every call": "trial_test.go: TestKilledAtEveryCall", "abort": "trial_test.go: TestEachStrategy", "timeout": "killed_test.go: TestStopped; refresh_test.go: TestNoRoom",
		"rollback after another deployment": "later_test.go: TestRollbackAfterAnotherDeployment",
	}
	lambda := map[string]string{
		"nothing differs": "cases_test.go: TestTheSameDeliveryTwice", "what is deployed doesn't come up": "cases_test.go: TestCodeThatCantBeUsed", "circuit breaker": "- AWS Lambda has none",
		"denied in the middle": "cases_test.go: TestRefusals", "throttled": "cases_test.go: TestThrottled", "delivered twice": "cases_test.go: TestTheSameDeliveryTwice",
		"killed at every call": "cases_test.go: TestADelegateDiesAnywhere; cases_test.go: TestADelegateDiesInARollback", "abort": "cases_test.go: TestTheEndOfTheTime",
		"timeout": "cases_test.go: TestTheEndOfTheTime", "rollback after another deployment": "cases_test.go: TestRollbackAfterAnotherDeployment",
	}
	const between = "trial_test.go: TestWhateverComesBetween" // of the lanes that run tools
	elastigroup := map[string]string{
		"nothing differs": "trial_test.go: TestEachStrategy", "what is deployed doesn't come up": "killed_test.go: TestMachinesThatNeverServe", "circuit breaker": "- Spot has none",
		"denied in the middle": "trial_test.go: TestEachStrategy", "throttled": "trial_test.go: TestEachStrategy; killed_test.go: TestTooSoon",
		"delivered twice": "trial_test.go: TestEachStrategy", "abort": "trial_test.go: TestEachStrategy; killed_test.go: TestStopped", "timeout": "killed_test.go: TestMachinesThatNeverServe",
	}
	return map[string]map[string]string{
		"elastigroup phases": with(elastigroup, map[string]string{
			"first deployment": "phased_test.go: TestTheFirstGroup", "update": "phased_test.go: TestTheNextGroup", "rollback of the first": "killed_test.go: TestKilledAtEveryCall",
			"killed at every call": "killed_test.go: TestKilledAtEveryCall", "rollback after another deployment": "later_test.go: TestRollbackAfterPhasesOfAnother",
		}),
		"elastigroup blue/green": with(elastigroup, map[string]string{
			"first deployment": "bluegreen_test.go: TestSwap; bluegreen_test.go: TestShift", "update": "bluegreen_test.go: TestSwap; bluegreen_test.go: TestShift",
			"rollback of the first": "trial_test.go: TestEachStrategy", "killed at every call": "bluegreen_test.go: TestColoursKilledAtEveryCall",
			"rollback after another deployment": "later_test.go: TestRollbackAfterColoursOfAnother",
		}),
		"ecs rolling": with(ecs, map[string]string{
			"first deployment": "rolling_test.go: TestFirstDeployment", "update": "rolling_test.go: TestUpdateAndRollback", "rollback of the first": "rolling_test.go: TestRollbackOfTheFirst",
			"rollback after another deployment": "later_test.go: TestRollbackAfterAnotherDeployment; rolling_test.go: TestSuperseded",
		}),
		"ecs canary": with(ecs, map[string]string{
			"first deployment": "rolling_test.go: TestCanary", "update": "rolling_test.go: TestCanary", "rollback of the first": "rolling_test.go: TestCanary",
			"nothing differs": "trial_test.go: TestEachStrategy", "rollback after another deployment": "- a canary is deleted, whoever made it",
		}),
		"ecs blue/green": with(ecs, map[string]string{
			"first deployment": "bluegreen_test.go: TestBlueGreen", "update": "bluegreen_test.go: TestBlueGreen", "rollback of the first": "bluegreen_test.go: TestTheFirstColourIsTakenBack",
			"nothing differs": "trial_test.go: TestEachStrategy", "what is deployed doesn't come up": "bluegreen_test.go: TestNobodyAnswers",
			"killed at every call": "trial_test.go: TestKilledAtEveryCall; bluegreen_test.go: TestASwapThatWasKilled",
		}),
		"ecs traffic shift": with(ecs, map[string]string{
			"first deployment": "bluegreen_test.go: TestTrafficShift", "update": "bluegreen_test.go: TestTrafficShiftOfAnUpdate", "rollback of the first": "bluegreen_test.go: TestTheFirstColourIsTakenBack",
			"nothing differs": "bluegreen_test.go: TestTrafficShift", "what is deployed doesn't come up": "bluegreen_test.go: TestNobodyAnswers",
		}),
		"ecs phases": with(ecs, map[string]string{
			"first deployment": "phased_test.go: TestPhases", "update": "phased_test.go: TestPhases", "rollback of the first": "phased_test.go: TestPhasesOfTheFirst",
			"nothing differs": "trial_test.go: TestEachStrategy",
		}),
		"ecs by its own strategies": with(ecs, map[string]string{
			"first deployment": "shifting_test.go: TestECSMovesTheTraffic", "update": "shifting_test.go: TestECSMovesTheTraffic; shifting_test.go: TestECSMovesTheTrafficByShares",
			"what is deployed doesn't come up": "shifting_test.go: TestECSMovesTheTrafficBack", "circuit breaker": "shifting_test.go: TestECSMovesTheTrafficBack",
			"rollback of the first": "rolling_test.go: TestRollbackOfTheFirst", "rollback after another deployment": "rolling_test.go: TestSuperseded",
		}),
		"asg rolling": with(asg, map[string]string{
			"first deployment": "rolling_test.go: TestFirstDeployment", "update": "rolling_test.go: TestUpdateAndRollback", "rollback of the first": "rolling_test.go: TestRollbackOfTheFirst",
		}),
		"asg canary": with(asg, map[string]string{
			"first deployment": "around_test.go: TestCanary", "update": "around_test.go: TestCanary", "rollback of the first": "around_test.go: TestCanary",
			"rollback after another deployment": "- a canary is deleted, whoever made it",
		}),
		"asg blue/green": with(asg, map[string]string{
			"first deployment": "bluegreen_test.go: TestBlueGreen", "update": "bluegreen_test.go: TestBlueGreen", "what is deployed doesn't come up": "bluegreen_test.go: TestBlueGreenThatDoesNotServe",
			"denied in the middle":  "trial_test.go: TestEachStrategy; bluegreen_test.go: TestSwapDeniedInTheMiddle; bluegreen_test.go: TestBlueGreenRollback",
			"rollback of the first": "bluegreen_test.go: TestBlueGreenRollbackOfTheFirst",
		}),
		"asg traffic shift": with(asg, map[string]string{
			"first deployment": "bluegreen_test.go: TestShiftTraffic", "update": "bluegreen_test.go: TestShiftTraffic", "nothing differs": "bluegreen_test.go: TestShiftTraffic",
			"what is deployed doesn't come up": "bluegreen_test.go: TestShiftTraffic", "rollback of the first": "bluegreen_test.go: TestBlueGreenRollbackOfTheFirst",
		}),
		"asg phases": with(asg, map[string]string{
			"first deployment": "phased_test.go: TestPhases", "update": "phased_test.go: TestPhases", "what is deployed doesn't come up": "phased_test.go: TestPhasesTakenBack",
			"rollback of the first": "phased_test.go: TestPhasesTakenBack",
		}),
		"awslambda deploy": with(lambda, map[string]string{
			"first deployment": "awslambda_test.go: TestFirstDeployment", "update": "awslambda_test.go: TestUpdate", "rollback of the first": "cases_test.go: TestRollbackOfTheFirstDeployment",
		}),
		"awslambda canary": with(lambda, map[string]string{
			"first deployment": "cases_test.go: TestFirstCanary", "update": "cases_test.go: TestCanary", "rollback of the first": "cases_test.go: TestFirstCanary",
			"nothing differs": "cases_test.go: TestCanary", "delivered twice": "cases_test.go: TestCanary",
		}),
		"cloudformation": {
			"first deployment": "cloudformation_test.go: TestAStackLives", "update": "cloudformation_test.go: TestAStackLives", "nothing differs": "cloudformation_test.go: TestAStackLives",
			"what is deployed doesn't come up": "killed_test.go: TestStatuses", "circuit breaker": "- stacks roll back by themselves: killed_test.go: TestStatuses",
			"denied in the middle": "killed_test.go: TestDeniedAndThrottled", "throttled": "killed_test.go: TestDeniedAndThrottled", "delivered twice": "killed_test.go: TestDeliveredAgain",
			"killed at every call": "killed_test.go: TestKilledAtEveryCall", "abort": "killed_test.go: TestStopped", "timeout": "killed_test.go: TestStopped",
			"rollback of the first": "killed_test.go: TestKilledAtEveryCall", "rollback after another deployment": "cloudformation_test.go: TestRollbackAfterAnotherDeployment; cloudformation_test.go: TestRollbackOfAStrangersStack; killed_test.go: TestSomebodyElsesOperation",
		},
		"awssam": {
			"first deployment": "awssam_test.go: TestDeploysAndRollsBack", "update": "awssam_test.go: TestDeploysAndRollsBack", "nothing differs": "awssam_test.go: TestDeploysAndRollsBack",
			"what is deployed doesn't come up": "awssam_test.go: TestRolledBackByItself", "circuit breaker": "- stacks roll back by themselves: awssam_test.go: TestRolledBackByItself",
			"denied in the middle": between + "; awssam_test.go: TestDenied", "throttled": between, "delivered twice": between, "killed at every call": between, "abort": between, "timeout": between,
			"rollback of the first": "awssam_test.go: TestDeploysAndRollsBack", "rollback after another deployment": "later_test.go: TestRollbackAfterAnotherDeployment",
		},
		"serverless": {
			"first deployment": "serverless_test.go: TestDeployAndRollback", "update": "serverless_test.go: TestDeployAndRollback", "nothing differs": between,
			"what is deployed doesn't come up": "serverless_test.go: TestFailures", "circuit breaker": "- stacks roll back by themselves: serverless_test.go: TestFailures",
			"denied in the middle": between, "throttled": between, "delivered twice": between, "killed at every call": between, "abort": between, "timeout": between,
			"rollback of the first": "serverless_test.go: TestDeployAndRollback", "rollback after another deployment": "trial_test.go: TestRollbackAfterAnotherDeployment",
		},
		"awscdk": {
			"first deployment": "awscdk_test.go: TestDeploys", "update": "awscdk_test.go: TestRollsBack", "nothing differs": between,
			"what is deployed doesn't come up": "trial_test.go: TestRolledBackByItself", "circuit breaker": "- stacks roll back by themselves: trial_test.go: TestRolledBackByItself",
			"denied in the middle": between + "; awscdk_test.go: TestAccessDenied", "throttled": between, "delivered twice": between, "killed at every call": between, "abort": between, "timeout": between,
			"rollback of the first": "awscdk_test.go: TestRollbackDeploysNothingElse", "rollback after another deployment": "later_test.go: TestRollbackAfterAnotherDeployment",
		},
	}
}

// with are a lane's tests, some of which are a strategy's own.
func with(lane, own map[string]string) map[string]string {
	all := maps.Clone(lane)
	maps.Copy(all, own)
	return all
}

// TestEachStrategyIsTriedInEachScenario: each strategy of each lane of AWS says
// where each scenario is tried, and these tests are there.
func TestEachStrategyIsTriedInEachScenario(t *testing.T) {
	t.Parallel()
	open := 0
	for strategy, cells := range tried() {
		lane, _, _ := strings.Cut(strategy, " ")
		for scenario := range cells {
			if !slices.Contains(scenarios(), scenario) {
				t.Errorf("%s: there is no scenario %q", strategy, scenario)
			}
		}
		for _, scenario := range scenarios() {
			tests := cells[scenario]
			switch {
			case tests == "":
				t.Errorf("%s: nothing says where %q is tried", strategy, scenario)
			case strings.HasPrefix(tests, "open: "):
				open++
			case strings.HasPrefix(tests, "- "):
			default:
				for one := range strings.SplitSeq(tests, "; ") {
					file, name, _ := strings.Cut(one, ": ")
					doc, err := os.ReadFile(filepath.Join("..", "..", "delegate", lane, file))
					if err != nil || !strings.Contains(string(doc), "func "+name+"(") {
						t.Errorf("%s, %s: %s has no %s (%v)", strategy, scenario, file, name, err)
					}
				}
			}
		}
	}
	if open > stillOpen {
		t.Errorf("%d scenarios are open; want %d at most", open, stillOpen)
	}
}
