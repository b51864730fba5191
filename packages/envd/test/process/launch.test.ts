import { expect, it } from 'vitest';
import { launchCommand } from '../../src/process/launch.js';

const spec = { command: 'id', args: ['-u'], identity: { uid: 1000, gid: 1000, groups: [1000, 27] } };

it('runs the program itself where no account has to change', () => {
  expect(launchCommand({ ...spec, identity: undefined }, false)).toEqual({ file: 'id', args: ['-u'] });
});

it('leaves the change of account to the runtime when there are no further groups', () => {
  const identity = { uid: 7, gid: 7, groups: [7] };
  expect(launchCommand({ ...spec, identity }, false)).toEqual({ file: 'id', args: ['-u'], uid: 7, gid: 7 });
});

it('sets further groups through setpriv, else through chroot, else goes without', () => {
  expect(launchCommand(spec, false, () => true)).toMatchObject({
    file: '/usr/bin/setpriv',
    args: expect.arrayContaining(['--reuid=1000', '--regid=1000', '--groups=27']),
  });
  expect(launchCommand(spec, false, (path) => path === '/usr/sbin/chroot').file).toBe('/usr/sbin/chroot');
  expect(launchCommand(spec, false, () => false)).toMatchObject({ file: 'id', uid: 1000, gid: 1000 });
});
