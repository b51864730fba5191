import type { Uses } from '../../context.js';
import type { BuildState, WireStep } from '../shared/build.js';
import type { BuildLog } from '../shared/build-log.js';
import type { BuildMachine } from '../shared/machine.js';

/** The tools of steps. */
export interface StepTools {
  context: Uses<'config' | 'copies' | 'db' | 'ids' | 'log' | 'nodes'>;
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
  /** Runs the step in an instance, whose files become a layer. Absent: it changes the state alone. */
  work?(state: BuildState, tools: StepTools): Promise<StepResult>;
  /** Changes the state for the steps after it. @throws {BuildError} */
  after?(state: BuildState): Partial<Pick<BuildState, 'env' | 'args' | 'user' | 'workdir'>>;
}

/** The capabilities of drivers that steps depend on. */
export interface StepLimits {
  /** False: a layer holds only the home directory, and there is one user. */
  rootfs: boolean;
}

export type StepReader = (step: WireStep, limits: StepLimits) => Step;
