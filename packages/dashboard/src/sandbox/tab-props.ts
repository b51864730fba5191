import type { Sandbox, SandboxDetail } from '@svc/sdk';

/** What every tab of a sandbox is given. */
export interface TabProps {
  team: string;
  handle: Sandbox;
  detail: SandboxDetail;
}
