import { spawn } from 'node:child_process';

/**
 * Opens an address in the person's browser: the program that `BROWSER` names, else what the system
 * opens addresses with. Returns false if there is none; it is not waited for what is opened.
 */
export function openBrowser(address: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const [command, ...words] = opener(environment);
  return new Promise((resolve) => {
    const child = spawn(command, [...words, address], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    // An opener that cannot open anything ends at once, with an error.
    const isOpen = setTimeout(() => resolve(true), openerMillis);
    child.once('exit', (code) => {
      clearTimeout(isOpen);
      resolve(code === 0);
    });
    child.unref();
  });
}

/** How long an opener may run before it counts as one that works: some are browsers themselves. */
const openerMillis = 3_000;

function opener({ BROWSER }: NodeJS.ProcessEnv): readonly [string, ...string[]] {
  if (BROWSER !== undefined && BROWSER !== '') return [BROWSER];
  switch (process.platform) {
    case 'darwin':
      return ['open'];
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler'];
    default:
      return ['xdg-open'];
  }
}
