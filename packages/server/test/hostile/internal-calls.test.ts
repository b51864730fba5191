import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const packages = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Every place of the service that speaks to something inside a sandbox, and what of it a test lets the hostile answers
 * meet: the name of a function, in a test that uses `hostileAnswers`. A new place without a row fails below.
 */
const ROWS: Record<string, { by: string; in: string }> = {
  'server/src/templates/builds/shared/machine.ts createDialTransport': {
    by: 'machine.script(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
  'server/src/templates/builds/shared/machine.ts exchange': {
    by: 'machine.upload(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
  'server/src/sandboxes/daemon/daemon-control.ts askDaemon': {
    by: 'daemonLogs(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
  'server/src/sandboxes/daemon/daemon-control.ts dial': {
    by: 'initDaemon(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
  'server/src/sandboxes/daemon/start-command.ts createDialTransport': {
    by: 'startCommandOf(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
  'server/src/gateway/dial.ts dial': {
    by: 'fixture.serveTcp',
    in: 'server/test/hostile/gateway-answers.test.ts',
  },
  'server/src/gateway/silence.ts exchange': {
    by: 'DAEMON_PORT',
    in: 'server/test/hostile/gateway-answers.test.ts',
  },
  'server/src/gateway/silence.ts dial': {
    by: 'DAEMON_PORT',
    in: 'server/test/hostile/gateway-answers.test.ts',
  },
  // Opens connections for the gateway.
  'server/src/sandboxes/change/routing.ts dial': {
    by: 'fixture.serveTcp',
    in: 'server/test/hostile/gateway-answers.test.ts',
  },
  'runtime/src/shared/readiness.ts askDaemon': {
    by: 'waitForDaemon(',
    in: 'runtime/test/hostile/daemon.test.ts',
  },
  // Opens connections for readiness.
  'runtime/src/incus-driver/incus-driver.ts dial': {
    by: 'waitForDaemon(',
    in: 'runtime/test/hostile/daemon.test.ts',
  },
  'daemon/src/dial/ask-daemon.ts exchange': { by: 'askDaemon(', in: 'runtime/test/hostile/daemon.test.ts' },
  'daemon/src/dial/dial-connect.ts exchange': {
    by: 'startCommandOf(',
    in: 'server/test/hostile/daemon-answers.test.ts',
  },
};

/** Calls that open a connection into a sandbox or speak over one. */
const CALL = /(?<!function )\b(askDaemon|exchange|createDialTransport)\(|\.(dial)\(/g;

function placesOf(folder: string): string[] {
  return readdirSync(join(packages, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/^(testing|gen)\//.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(packages, folder, name), 'utf8');
      return [...text.matchAll(CALL)].map(([, called, dialed]) => `${folder}/${name} ${called ?? dialed}`);
    });
}

describe('every call into a sandbox', () => {
  it('has a row here, and every row a call', () => {
    const places = [...new Set(['server/src', 'runtime/src', 'daemon/src'].flatMap(placesOf))].sort();
    expect(places).toEqual(Object.keys(ROWS).sort());
  });

  it.each(Object.entries(ROWS))('meets the hostile answers: %s', (_, row) => {
    const text = readFileSync(join(packages, row.in), 'utf8');
    expect(text).toContain('hostileAnswers');
    expect(text).toContain(row.by);
  });
});
