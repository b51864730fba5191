import type { SandboxDetail, SandboxInfo } from '@svc/sdk';

/** A sandbox as `--json` shows it; times as ISO text. */
export function sandboxRecord(info: SandboxInfo): object {
  return { ...info, startedAt: info.startedAt.toISOString(), endAt: info.endAt.toISOString() };
}

/** The same with all that is known of one. */
export function detailRecord(info: SandboxDetail): object {
  return sandboxRecord(info);
}
