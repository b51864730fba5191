export const START = 'process.Process/Start';
export const CONNECT = 'process.Process/Connect';
export const LIST = 'process.Process/List';
export const SEND = 'process.Process/SendInput';
export const STREAM = 'process.Process/StreamInput';
export const SIGNAL = 'process.Process/SendSignal';
export const UPDATE = 'process.Process/Update';
export const CLOSE = 'process.Process/CloseStdin';

/** A process that is not there. */
export const NOBODY = { pid: 4_194_300 };
export const base64 = (text: string) => Buffer.from(text).toString('base64');
export const selectorOf = (pid: number) => ({ pid });

export interface Listed {
  processes?: {
    pid: number;
    tag?: string;
    startedAt: string;
    config: { cmd: string; args?: string[]; envs?: object; cwd?: string };
  }[];
}
