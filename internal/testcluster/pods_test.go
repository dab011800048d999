package testcluster_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// look is what a person sees of a pod with one container.
type look struct {
	Phase         corev1.PodPhase
	Ready         bool
	Waiting, Done string // the container's reasons
}

func TestPodsBehaveByRule(t *testing.T) {
	t.Parallel()
	const always, onFailure, never = corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	tests := map[string]struct {
		image     string
		behaviour string
		restart   corev1.RestartPolicy // a Deployment's pod if always, a Job's otherwise
		want      look
	}{
		"ready":                   {"nginx:1", "", always, look{Phase: corev1.PodRunning, Ready: true}},
		"broken image":            {"nginx:broken", "", always, look{Phase: corev1.PodPending, Waiting: "ImagePullBackOff"}},
		"crash loop":              {"nginx:1", "crashloop", always, look{Phase: corev1.PodRunning, Waiting: "CrashLoopBackOff"}},
		"never ready":             {"nginx:1", "never-ready", always, look{Phase: corev1.PodRunning}},
		"job ends":                {"nginx:1", "", never, look{Phase: corev1.PodSucceeded, Done: "Completed"}},
		"job with a broken image": {"broken/nginx:1", "", never, look{Phase: corev1.PodPending, Waiting: "ImagePullBackOff"}},
		"job in a crash loop":     {"nginx:1", "crashloop", onFailure, look{Phase: corev1.PodRunning, Waiting: "CrashLoopBackOff"}},
		"job that fails":          {"nginx:1", "crashloop", never, look{Phase: corev1.PodFailed, Done: "Error"}},
		"job that never ends":     {"nginx:1", "never-ready", never, look{Phase: corev1.PodRunning}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t)
			pod := podTemplate("subject", tt.image)
			if tt.behaviour != "" {
				pod.Labels["slipway.test/behaviour"] = tt.behaviour
			}
			pod.Spec.RestartPolicy = tt.restart
			if tt.restart == always {
				c.createDeployment(t, deployment("subject", 1, pod))
			} else {
				c.createJob(t, pod)
			}

			var seen look
			c.eventually(t, func(ctx context.Context) (bool, any, error) {
				var err error
				seen, err = c.look(ctx, "subject")
				return seen == tt.want, seen, err
			})

			// It stays so: by the time that kwok has done its work on another pod, it has seen this one's change.
			c.createDeployment(t, deployment("bystander", 1, podTemplate("bystander", "nginx:1")))
			c.eventually(t, func(ctx context.Context) (bool, any, error) {
				bystander, err := c.look(ctx, "bystander")
				return bystander.Ready, bystander, err
			})
			later, err := c.look(t.Context(), "subject")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, later); diff != "" {
				t.Errorf("pod, after another was made ready (-want +got):\n%s", diff)
			}
		})
	}
}

func (c cluster) createJob(t *testing.T, pod corev1.PodTemplateSpec) {
	t.Helper()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Labels["app"]},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32), Template: pod},
	}
	if _, err := c.BatchV1().Jobs(c.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// look looks at the first pod of an app; the zero look is that of no pod.
func (c cluster) look(ctx context.Context, app string) (look, error) {
	pods, err := c.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil || len(pods.Items) == 0 {
		return look{}, err
	}
	status := pods.Items[0].Status
	seen := look{Phase: status.Phase}
	for _, condition := range status.Conditions {
		if condition.Type == corev1.PodReady {
			seen.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	for _, container := range status.ContainerStatuses {
		if container.State.Waiting != nil {
			seen.Waiting = container.State.Waiting.Reason
		}
		if container.State.Terminated != nil {
			seen.Done = container.State.Terminated.Reason
		}
	}
	return seen, nil
}
