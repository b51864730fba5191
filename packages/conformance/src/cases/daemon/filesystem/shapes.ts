export const F = 'filesystem.Filesystem';

export interface Entry {
  name: string;
  type: string;
  path: string;
  size?: string;
  mode?: number;
  permissions: string;
  owner: string;
  group: string;
  modifiedTime: string;
  symlinkTarget?: string;
}

export interface WatchEvent {
  name: string;
  type: string;
  entry?: Entry;
}
