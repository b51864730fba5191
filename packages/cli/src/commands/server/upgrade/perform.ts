import type { Addresses, ServerControl } from './control.js';
import type { Installer } from './installation.js';
import { type Journal, steps } from './journal.js';

/** The parts of an upgrade. */
export interface UpgradeParts {
  installer: Pick<Installer, 'install' | 'revert'>;
  control: ServerControl;
  database: {
    /** Of a server that is stopped. A copy that is there is made anew. */
    copy(): Promise<void>;
    /** Nothing where there is no copy. */
    putBack(): Promise<void>;
  };
  /** @returns what is wrong with the new version that runs; undefined when nothing is */
  check(addresses: Addresses | undefined): Promise<string | undefined>;
  /** Keeps what is known, on disk, before anything else is done. */
  record(journal: Journal): Promise<void>;
  /** Reports to the operator. */
  report(text: string): void;
}

/** The end of an upgrade: with the new version, or with the old one as before, and why. */
export type Outcome =
  | { kind: 'upgraded'; addresses: Addresses | undefined }
  | { kind: 'restored'; why: string };

/**
 * Does what is left of an upgrade; if anything fails before the new version is up, the version before comes back. A process that is
 * killed at any moment has left a journal with which this continues.
 * @throws what kept the version before from coming back; what keeps a new version, which was up once, from getting up again
 */
export async function performUpgrade(begun: Journal, parts: UpgradeParts): Promise<Outcome> {
  const { installer, control, database } = parts;
  let journal = begun;
  const enter = async (change: Partial<Journal>) => {
    journal = { ...journal, ...change };
    await parts.record(journal);
  };
  // It may have served for days since: what it did meanwhile is not thrown away for an older copy.
  if (journal.step === 'checking' || (journal.step === 'starting' && (await control.isRunning())))
    return { kind: 'upgraded', addresses: (await control.isRunning()) ? undefined : await control.start() };
  if (journal.step !== 'restoring') {
    let addresses: Addresses | undefined;
    const work: Record<(typeof steps)[number], () => Promise<void>> = {
      stopping: () => control.stop(),
      copying: () => database.copy(),
      installing: () => installer.install(journal.to),
      async starting() {
        addresses = await control.start();
      },
      async checking() {
        const problem = await parts.check(addresses);
        if (problem !== undefined) throw new Error(problem);
      },
    };
    // Before the new version was started all is done again: somebody may have started the old one meanwhile.
    const first = journal.step === 'starting' ? 'starting' : 'stopping';
    try {
      for (const step of steps.slice(steps.indexOf(first))) {
        await enter({ step, newStarted: journal.newStarted || step === 'starting' });
        parts.report(TEXTS[step](journal));
        await work[step]();
      }
      return { kind: 'upgraded', addresses };
    } catch (error) {
      await enter({ step: 'restoring', why: sentenceOf(error) });
    }
  }
  const why = journal.why ?? 'It broke off.';
  parts.report(`${why}\nGoing back to ${journal.from}.`);
  await control.stop();
  await installer.revert(journal.from);
  if (journal.newStarted) await database.putBack();
  await control.start();
  return { kind: 'restored', why };
}

const TEXTS: Record<(typeof steps)[number], (journal: Journal) => string> = {
  stopping: () => 'Stopping the server; sandboxes run on.',
  copying: () => 'Copying the database.',
  installing: ({ to }) => `Installing ${to}.`,
  starting: ({ to }) => `Starting ${to}.`,
  checking: () => 'Looking for the sandboxes.',
};

/** With what its programs said: the operator has nothing else of it. */
function sentenceOf(error: unknown): string {
  const { message, hint } = error as Error & { hint?: string };
  const text = message || String(error);
  return `${text}${/[.!?]$/.test(text) ? '' : '.'}${hint === undefined ? '' : `\n${hint}`}`;
}
