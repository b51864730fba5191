export function readCatalog(source: string): {
  name: string;
  status: number;
  message: string;
  errorCode?: string;
  retryAfter?: string;
  note: string;
}[];
