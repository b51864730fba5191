import { readText } from '../../shared/read-text.js';

/** A program as its user sees it. */
export function programName(pid: number): string {
  return `"${readText(`/proc/${pid}/comm`)?.trim() ?? '?'}" (process ${innerPid(pid)})`;
}

/** The number by which a program knows itself. */
export function innerPid(pid: number): string {
  const line = /^NSpid:\s+(.*)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return line?.trim().split(/\s+/).at(-1) ?? '?';
}
