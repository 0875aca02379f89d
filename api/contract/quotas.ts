// The daily quotas of a plan besides requests, and the limit of the plan for each (AC-02).
export const LIMIT_OF_QUOTA = {
  dql: 'dql_per_day',
  agent_evaluations: 'agent_evaluations_per_day',
  archive_files: 'archive_files_per_day',
} as const;
export type Quota = keyof typeof LIMIT_OF_QUOTA;
export const QUOTAS = Object.keys(LIMIT_OF_QUOTA) as readonly Quota[];
