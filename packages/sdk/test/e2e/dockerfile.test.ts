import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Template } from '../../src/index.js';

describeOnServer(
  'a template of a Dockerfile',
  (fixture) => {
    let context: string;
    beforeAll(async () => {
      context = await mkdtemp(join(tmpdir(), 'svc-dockerfile-'));
      await writeFile(join(context, 'tool-2'), '#!/bin/sh\necho "$0"\n', { mode: 0o755 });
    });
    afterAll(() => rm(context, { recursive: true, force: true }));

    it('has the variables, users, paths and files that the file says', { timeout: 180_000 }, async () => {
      const client = fixture.client();
      const template = Template.fromDockerfile(
        `FROM base
ARG V=1
ARG SHADOW=arg TARGETARCH
ENV PATH=/opt/$V/bin:$PATH SHADOW=env
ENV TEXT='$SHADOW' ESCAPED="\\$SHADOW" FULL="is \${SHADOW:-none} \${UNKNOWN:-none}"
ENV PLAIN=$TEXT$ESCAPED SHADOW=later OLD=$SHADOW
ENV OWNER=deploy
USER \${OWNER}
WORKDIR /srv/$OWNER
COPY --chown=$OWNER tool-$V /opt/$V/bin/tool
HEALTHCHECK CMD true
RUN echo "$SHADOW $V $TARGETARCH" > seen; tool >> seen; stat -c %U /opt/$V/bin/tool seen . >> seen
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN if false | true; then echo bad; else echo pipefail; fi >> seen
RUN <<EOF
#!/bin/bash
echo "by $BASH" >> seen
EOF
`,
        { buildArgs: { V: '2' }, contextDir: context },
      );
      const build = await client.templates.build(template, { name: 'of-dockerfile' });
      const logged: string[] = [];
      for await (const { message } of build.logs()) logged.push(message);
      expect(await build.wait()).toMatchObject({ status: 'ready' });
      expect(logged[0]).toMatch(/^Dockerfile line 11: HEALTHCHECK has no effect here/);
      await using sandbox = await client.sandboxes.create({ template: 'of-dockerfile' });
      const said = await sandbox.commands.run(
        'cat seen; printf "%s|" "$TEXT" "$ESCAPED" "$FULL" "$PLAIN" "$SHADOW" "$OLD" "${V-unset}"; id -un; pwd; tool',
      );
      const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
      expect(said.stdout.split('\n')).toEqual([
        `later 2 ${architecture}`,
        '/opt/2/bin/tool',
        'deploy',
        'deploy',
        'deploy',
        'pipefail',
        'by /bin/bash',
        '$SHADOW|$SHADOW|is env none|$SHADOW$SHADOW|later|env|unset|deploy',
        '/srv/deploy',
        '/opt/2/bin/tool',
        '',
      ]);
    });

    it('fails before anything runs where a text of a step cannot be read', async () => {
      const client = fixture.client();
      const template = Template.from('base').run('exit 3').env({ A: '${B^^}' });
      const build = await client.templates.build(template, { name: 'unreadable' });
      await expect(build.wait()).rejects.toThrow(/at step 2 \(ENV\): ENV A: .*no variable that is known/);
    });
  },
  ['linux'],
);
