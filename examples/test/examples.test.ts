import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { describe, expect, it } from 'vitest';
import { runExample } from './run-example.js';
import { withFramework } from './with-framework.js';

/** The expected output of each example. */
const EXAMPLES: { name: string; prints: (string | RegExp)[]; needsMemory?: boolean; framework?: string }[] = [
  { name: 'quickstart', prints: ['wrote report.json', '"rows": 12', 'Done in'] },
  { name: 'agent-tools', prints: ['NameError', 'The sum of 1 to 10 is 55.'] },
  {
    name: 'parallel-forks',
    prints: [
      '111 squared is 12321',
      '222 squared is 49284',
      '333 squared is 110889',
      '444 squared is 197136',
    ],
    needsMemory: true,
  },
  {
    name: 'mcp-tools',
    prints: ['tools: run_command, run_code,', '[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]', 'read again: [2, 3,'],
  },
  {
    name: 'agents-ai-sdk',
    prints: ['write_file: Wrote', 'They are [2, 3, 5, 7, 11, 13, 17, 19, 23, 29].'],
  },
  {
    name: 'agents-openai',
    framework: 'openai',
    prints: ['write_file: Wrote', 'They are [2, 3, 5, 7, 11, 13, 17, 19, 23, 29].'],
  },
  {
    name: 'agents-langchain',
    framework: 'langchain',
    prints: [
      'tool: Wrote',
      'They are [2, 3, 5, 7, 11, 13, 17, 19, 23, 29].',
      'The deep agent says [2, 3, 5, 7, 11, 13, 17, 19, 23, 29].',
    ],
  },
  {
    name: 'agents-mastra',
    framework: 'mastra',
    prints: ['They are [2, 3, 5, 7, 11, 13, 17, 19, 23, 29].'],
  },
  { name: 'sandbox-per-user', prints: ['one sandbox', '3 messages: good night / hello / is anybody there?'] },
  {
    name: 'edit-in-sync',
    prints: [
      'remote: create numbers.txt',
      'sorted here: 1 2 3',
      'smallest there: 10',
      'numbers.txt: mine\nnumbers.txt.conflict-remote-TIME: theirs',
    ],
  },
  {
    name: 'record-replay',
    prints: [
      'recorded: 1 3 6 -> 6',
      'a readable file, key in it: false',
      'replayed: 1 3 6 -> 6',
      'strict: shows the nearest request',
    ],
  },
  { name: 'ssh-project', prints: ['test_gauss', 'OK'] },
  { name: 'web-preview', prints: [/^200 text\/html/m, 'Hello from the sandbox'] },
  {
    name: 'preview-link',
    prints: [
      'without the link: 403',
      'curl: 200 <h1>For your eyes only</h1>',
      'a browser: 307 to /index.html, then 200',
    ],
  },
  {
    name: 'traces',
    prints: [
      'the sum is 5050',
      'the program saw the trace: true',
      'answer a question\n  sandboxes.create\n  files.write\n  commands.run exit 0\n  commands.run exit 3 command_exit\n  sandboxes.kill',
    ],
  },
  { name: 'template-ready', prints: ['built: ready', '200 hello from the build'] },
  {
    name: 'webhook-receiver',
    prints: ['verified: sandbox.lifecycle.created', 'verified: sandbox.lifecycle.killed'],
  },
];

const findings = await checkHost({});
const linux = linuxDriverCanRun(findings);
if (!linux) console.warn('linux driver: skipped, this host cannot run it (svc server doctor says why)');

describe.each(linux ? ['process', 'linux'] : ['process'])('examples on the %s driver', (driver) => {
  // Loading a framework takes seconds: one driver is enough for what differs by framework.
  const examples = EXAMPLES.filter(
    ({ framework }) => framework === undefined || driver === 'linux' || !linux,
  );
  it.for(examples)(
    '$name prints what it promises',
    async ({ name, prints, needsMemory, framework }, context) => {
      if (needsMemory === true && driver === 'process') context.skip('the process driver cannot fork memory');
      if (
        needsMemory === true &&
        findings.some((finding) => finding.neededFor === 'memorySnapshot' && !finding.ok)
      )
        context.skip('this host has no CRIU that can store memory');
      const env =
        framework === undefined ? {} : await withFramework(framework, (reason) => context.skip(reason));
      const { code, output } = await runExample([process.execPath], ['--driver', driver, `${name}.mjs`], env);
      for (const text of prints) expect(output).toMatch(text);
      expect(code, output).toBe(0);
    },
  );
});
