import type { WireStep } from '../shared/build.js';
import { BuildError } from '../shared/build.js';
import { readCopy } from './copy.js';
import { readEnv } from './env.js';
import { readRun } from './run.js';
import type { Step, StepLimits, StepReader } from './step.js';
import { readUser } from './user.js';
import { readWorkdir } from './workdir.js';

const READERS: Record<string, StepReader> = {
  RUN: readRun,
  COPY: readCopy,
  ADD: readCopy,
  ENV: (step) => readEnv(step, 'ENV'),
  ARG: (step) => readEnv(step, 'ARG'),
  USER: readUser,
  WORKDIR: readWorkdir,
};

/** Reads one instruction; its type may come in any case. @throws {BuildError} naming what is wrong */
export function readStep(step: WireStep, limits: StepLimits): Step {
  const type = step.type.toUpperCase();
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (read === undefined)
    throw new BuildError(
      `'${step.type.slice(0, 100)}' is no instruction: ${Object.keys(READERS).join(', ')}`,
    );
  return read(step, limits);
}
