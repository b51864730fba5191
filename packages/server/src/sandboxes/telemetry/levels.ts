export type Level = 'debug' | 'info' | 'warn' | 'error';

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** The weight of a level as it is stored; an unknown one counts as info. */
export function levelRank(level: string): number {
  const rank = LEVELS.indexOf(level as Level);
  return rank < 0 ? 1 : rank;
}

export function levelName(rank: number): Level {
  return LEVELS[rank] ?? 'info';
}
