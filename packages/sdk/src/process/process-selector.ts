/** Chooses a process. */
export type ProcessChoice = { pid: number } | { tag: string };

/** A choice of process as the generated messages have it. */
export function selectorOf(choice: ProcessChoice) {
  return 'pid' in choice
    ? { case: 'pid' as const, value: choice.pid }
    : { case: 'tag' as const, value: choice.tag };
}
