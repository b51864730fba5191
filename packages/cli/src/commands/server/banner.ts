import type { RunFile } from '../../connection/run-file.js';
import type { Style } from '../../output/style.js';
import { formatFields } from '../../output/table.js';

/** The facts of the banner. */
export interface BannerFacts {
  run: RunFile;
  summary: string;
  /** Features of the driver that the host is missing, one sentence each. */
  lacking: string[];
  credentialsFile: string;
  /** The key, when it was made at this start: the only time it is shown. */
  newKey: string | undefined;
  adopted: number;
  warnings: string[];
  detached: boolean;
}

/** Returns the text of `server up` once the server listens. Pure. */
export function formatBanner(facts: BannerFacts, style: Style): string {
  const { run, summary, lacking, newKey, adopted, warnings, detached } = facts;
  const fields = formatFields(
    {
      Driver: [
        run.driver === 'process' ? style.red('process: NO ISOLATION') : style.green(run.driver),
        summary,
        run.why,
      ].join('\n'),
      API: run.apiUrl,
      Sandboxes: run.sandboxUrl,
      Operator:
        run.operatorUrl === undefined ? undefined : `${run.operatorUrl}/status  ${run.operatorUrl}/metrics`,
      Data: run.dataDir,
      Log: run.logFile,
      'Taken over':
        adopted > 0 ? `${adopted} ${adopted === 1 ? 'sandbox' : 'sandboxes'} of the last run` : undefined,
    },
    style,
  );
  const noIsolation =
    run.driver === 'process'
      ? [
          style.red(
            'Programs in sandboxes run on this machine as you, with your files and network. Run only what you trust.',
          ),
        ]
      : [];
  const lines = [
    style.bold(`svc server ${run.version}`),
    '',
    fields.trimEnd(),
    ...noIsolation.map((line) => `\n${line}`),
    ...(lacking.length > 0
      ? ['', style.yellow('Works, but these are missing:'), ...lacking.map((line) => `  - ${line}`)]
      : []),
    ...warnings.map((line) => `\n${style.yellow('warning:')} ${line}`),
    '',
    style.bold(newKey === undefined ? 'In another terminal:' : 'Your API key, shown this once:'),
    ...keyLines(facts),
    '',
    detached ? 'Stop it with `svc server down`.' : 'Ready. Ctrl+C stops the server.',
  ];
  return `${lines.join('\n')}\n`;
}

function keyLines({ newKey, run, credentialsFile }: BannerFacts): string[] {
  const addresses = `export SVC_API_URL=${run.apiUrl} SVC_SANDBOX_URL=${run.sandboxUrl}`;
  const commands = ['`svc` on this machine finds key and addresses by itself:', '  svc sandbox create'];
  if (newKey === undefined)
    return [
      ...indent(commands),
      ...indent([`Programs need the key in ${credentialsFile}, and:`, `  ${addresses}`]),
    ];
  return [
    ...indent([
      `export SVC_API_KEY=${newKey}`,
      addresses,
      `It is kept in ${credentialsFile} (only its owner reads it).`,
    ]),
    '',
    ...indent(commands),
  ];
}

function indent(lines: string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** The same as a record, for `--json`. The key is in it only when it is new. */
export function bannerRecord({ run, newKey, credentialsFile, lacking, adopted }: BannerFacts): object {
  return { ...run, lacking, adopted, credentialsFile, ...(newKey === undefined ? {} : { apiKey: newKey }) };
}
