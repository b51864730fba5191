/** Where the next page starts, as an answer tells it; undefined on the last page. */
export function nextTokenOf(response: Response): string | undefined {
  return response.headers.get('x-next-token') || undefined;
}
