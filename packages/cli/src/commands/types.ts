import type { Command } from 'commander';
import { act } from '../cli/leaf.js';

const packages = [
  {
    name: '@svc/sdk',
    what: 'the SDK: clients, errors, retries',
    example: "import { Sandbox, type SandboxInfo } from '@svc/sdk';",
  },
  {
    name: '@svc/platform',
    what: 'raw types and a thin client of the platform API, generated from the OpenAPI document',
    example: "import type { NewSandboxV2, Sandbox, operations, paths } from '@svc/platform';",
  },
  {
    name: '@svc/daemon',
    what: 'messages and clients of the daemon inside a sandbox, generated from the protobuf files',
    example: "import { createDaemonClient } from '@svc/daemon';",
  },
];

export function addTypesCommand(types: Command): void {
  types.action(
    act(async (cli) => {
      const { style } = cli.out;
      cli.out.result(packages, () =>
        packages
          .map(
            ({ name, what, example }) =>
              `${style.bold(name)}  ${what}\n  npm install ${name}\n${example.replace(/^/gm, '  ')}\n`,
          )
          .join('\n'),
      );
    }),
  );
}
