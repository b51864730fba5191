export { createFileRoutes, type FileRoutes } from './routes.js';
