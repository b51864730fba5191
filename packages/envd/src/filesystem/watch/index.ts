export { createWatchService, type WatchServiceOptions } from './service.js';
