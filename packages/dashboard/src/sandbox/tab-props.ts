import type { Sandbox, SandboxDetail } from '@svc/sdk';

/** The properties of every tab of a sandbox. */
export interface TabProps {
  team: string;
  handle: Sandbox;
  detail: SandboxDetail;
}
