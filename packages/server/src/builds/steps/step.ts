import type { components } from '@svc/platform';
import type { ServerContext } from '../../context.js';
import type { BuildLog } from '../build-log.js';
import type { BuildState } from '../build-state.js';
import type { BuildMachine } from '../machine.js';

export type WireStep = components['schemas']['TemplateStep'];

/** What steps work with. */
export interface StepTools {
  context: ServerContext;
  templateId: string;
  machine: BuildMachine;
  log: BuildLog;
  signal: AbortSignal;
}

export type StepResult = 'changed' | 'unchanged';

/** One instruction, its arguments checked. */
export interface Step {
  /** One line for the log. */
  title: string;
  /** What it needs an instance for; its files become a layer. Absent: it changes the state alone. */
  work?(state: BuildState, tools: StepTools): Promise<StepResult>;
  /** What changes for the steps after it. @throws {BuildError} */
  after?(state: BuildState): Partial<Pick<BuildState, 'env' | 'args' | 'user' | 'workdir'>>;
}

/** What drivers can do, as far as steps depend on it. */
export interface StepLimits {
  /** False: a layer holds only the home directory, and there is one user. */
  rootfs: boolean;
}

export type StepReader = (step: WireStep, limits: StepLimits) => Step;
