export interface TestFile {
  name: string;
  package: string;
  seconds: number;
  setUps: { name: string; seconds: number }[];
  tests: { name: string; seconds: number }[];
}

export interface Job {
  name: string;
  begin: number;
  end: number;
}

export function describeTimes(run: { files: TestFile[]; jobs: Job[] }): string[];

export function compareTimes(before: { files: TestFile[] }, after: { files: TestFile[] }): string[];

export function overBudget(
  files: TestFile[],
  budgets: Record<string, number>,
): { pace: number; judged: boolean; over: { name: string; seconds: number; allowed: number }[] };
