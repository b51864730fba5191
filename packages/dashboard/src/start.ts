/** Name of the count of attempts, which a page that was loaded again continues. */
const TRIES = 'svc-dashboard-tries';
/** Attempts before the reader is asked. */
const MOST_TRIES = 4;
/** Time before the second attempt, ms. It doubles with each. */
const FIRST_PAUSE_MS = 250;

/**
 * Loads the application. Its parts come in many files, and a browser gives up those that wait for a connection when the network
 * of its machine changes, as that of a server does whenever it starts. A part that failed stays failed until the page is loaded
 * again: that is done a few times, and then said.
 */
async function start(): Promise<void> {
  try {
    await import('./main.js');
    sessionStorage.removeItem(TRIES);
  } catch (error) {
    console.warn('the dashboard could not be loaded', error);
    const tries = Number(sessionStorage.getItem(TRIES) ?? 0) + 1;
    if (tries >= MOST_TRIES) return explain();
    sessionStorage.setItem(TRIES, String(tries));
    setTimeout(() => location.reload(), FIRST_PAUSE_MS * 2 ** (tries - 1));
  }
}

/** Without anything of the application: none of it need be there. */
function explain(): void {
  sessionStorage.removeItem(TRIES);
  const text = document.createElement('p');
  text.textContent = 'The dashboard could not be loaded: the server did not give all of its files.';
  const again = document.createElement('button');
  again.textContent = 'Try again';
  again.addEventListener('click', () => location.reload());
  const main = document.createElement('main');
  main.className = 'sign-in';
  main.setAttribute('role', 'alert');
  main.append(text, again);
  document.getElementById('app')?.replaceChildren(main);
}

void start();
