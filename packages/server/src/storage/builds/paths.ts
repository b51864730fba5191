import path from 'node:path';
import type { ServerConfig } from '../../config/config.js';

type Config = Pick<ServerConfig, 'dataDir'>;

/** The directory of uploaded files for COPY steps, with a directory for each template. */
export function allFilesDirectory(config: Config): string {
  return path.join(config.dataDir, 'builds', 'files');
}

export function filesDirectory(config: Config, templateId: string): string {
  return path.join(allFilesDirectory(config), templateId);
}

export function filesArchive(config: Config, templateId: string, hash: string): string {
  return path.join(filesDirectory(config, templateId), `${hash}.tar.gz`);
}

/** Returns the directory for files of interrupted builds; emptied in the background. */
export function trashDirectory(config: Config): string {
  return path.join(config.dataDir, 'builds', '.trash');
}

/** Returns the directory for files that are being received or unpacked; put into the trash at every start. */
export function draftsDirectory(config: Config): string {
  return path.join(config.dataDir, 'builds', 'drafts');
}
