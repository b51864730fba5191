import { type Api, callOk } from '../wire/call.js';

/** The facts of one sandbox. */
export interface Detail {
  templateID: string;
  sandboxID: string;
  startedAt: string;
  endAt: string;
  state: string;
  alias?: string;
  envdAccessToken?: string;
  metadata?: Record<string, string>;
  network?: Record<string, unknown>;
  lifecycle: { autoResume: boolean; onTimeout: string };
  allowInternetAccess?: boolean | null;
  cpuCount: number;
  memoryMB: number;
  diskSizeMB: number;
  volumeMounts?: { name: string; path: string }[];
}

/** Reads a sandbox that must be there. */
export const detail = (api: Api, sandboxID: string) =>
  callOk<Detail>(api, 'getSandbox', 200, { path: { sandboxID } });

/** Pauses a sandbox that must run. */
export const pause = (api: Api, sandboxID: string) =>
  callOk(api, 'pauseSandbox', 204, { path: { sandboxID } });

/** Kills a sandbox that must be there. */
export const kill = (api: Api, sandboxID: string) => callOk(api, 'killSandbox', 204, { path: { sandboxID } });
