import type { Isolation } from '@svc/runtime/contract';
import { checkHost, type DriverName, type Finding, linuxDriverCanRun } from '@svc/runtime/host';
import { CliError } from '../../errors/cli-error.js';

/** The driver to start with, and why. */
export interface ChosenDriver {
  name: DriverName;
  why: string;
  /** Features that the host is missing for the `linux` driver; empty for another one that was asked for. */
  lacking: Finding[];
}

interface DesiredDriver {
  driver: DriverName | 'auto' | undefined;
  ociRuntime: string | undefined;
  isolation: Isolation | undefined;
  dataDir: string;
}

/**
 * Chooses the driver. Less isolation than asked for is never given: when none is named it is `linux`, or an error.
 * @throws {CliError} with the missing parts of the host and the commands that get it
 */
export async function chooseDriver(desired: DesiredDriver): Promise<ChosenDriver> {
  const { driver = 'linux', dataDir, ociRuntime, isolation } = desired;
  if (driver !== 'linux' && driver !== 'auto') return { name: driver, why: 'It was asked for.', lacking: [] };
  const findings = await checkHost({
    dataDir,
    ...(ociRuntime === undefined ? {} : { ociRuntime }),
    ...(isolation === undefined ? {} : { isolation }),
  });
  const lacking = findings.filter(({ ok }) => !ok);
  if (linuxDriverCanRun(findings)) {
    const asked = desired.driver === 'linux' ? 'It was asked for.' : 'The host has all that isolation needs.';
    return { name: 'linux', why: asked, lacking };
  }
  if (desired.driver === 'auto' && isolation === undefined)
    return { name: 'process', why: 'The linux driver cannot run here.', lacking };
  throw cannotIsolate(lacking);
}

/** Returns the first message for a newcomer whose host cannot isolate. Pure. */
export function cannotIsolate(lacking: readonly Finding[]): CliError {
  const needed = lacking.filter(({ neededFor }) => neededFor === 'driver');
  return new CliError('This machine cannot run isolated sandboxes yet.', {
    code: 'host_unfit',
    hint: [
      'These are missing:',
      ...needed.flatMap(({ message, fix }) => [
        `  - ${message}`,
        ...(fix === undefined ? [] : [`      ${fix}`]),
      ]),
      '',
      'Either get it:             sudo svc server doctor --fix',
      'or do without isolation:   svc server up --driver process',
      '  Programs in sandboxes then run as you, on this machine, with your files. For trying things only.',
    ].join('\n'),
  });
}
