import { execFileSync } from 'node:child_process';
import { runTestCode } from '@svc/support/testing/child-program';
import { expect, it } from 'vitest';

it('says where the program is to code on the command line too', () => {
  const code = "import('@svc/egress').then(({ egressProgram }) => console.log(egressProgram.entry))";
  const printed = execFileSync(process.execPath, [...runTestCode, '-e', code], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  expect(printed).toMatch(/\/packages\/egress\/dist\/egress\.cjs\n$/);
});
