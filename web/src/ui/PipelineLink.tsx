import { Link } from "@tanstack/react-router";

/** PipelineLink leads from an execution to its pipeline. */
export function PipelineLink({ of }: { of: { org?: string; project?: string; pipeline: string } }) {
  if (!of.org || !of.project) return <span>{of.pipeline}</span>;
  return (
    <Link
      to="/o/$org/p/$project/pipelines/$pipeline"
      params={{ org: of.org, project: of.project, pipeline: of.pipeline }}
      search={{}}
    >
      {of.pipeline}
    </Link>
  );
}
