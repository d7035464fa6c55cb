import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { limits } from '../limits.ts';

/**
 * Opens an address that holds a one-time code in the person's browser: the program that `BROWSER`
 * names, else what the system opens addresses with. Returns false if there is none; it is not
 * waited for what is opened.
 *
 * Every user of the machine can read the arguments of a program. So these name a page that only
 * this user can read, and that leads on to the address; it is deleted when the code has expired.
 */
export async function openBrowser(
  address: string,
  environment: NodeJS.ProcessEnv,
  lifeMillis: number = limits.consoleCodeMillis,
): Promise<boolean> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-console-'));
  const page = path.join(folder, 'console.html');
  writeFileSync(page, redirectPage(address), { mode: 0o600, flag: 'wx' });
  const isOpen = await opens(pathToFileURL(page).href, environment);
  if (isOpen) deleteLater(folder, lifeMillis);
  else rmSync(folder, { recursive: true, force: true });
  return isOpen;
}

function redirectPage(address: string): string {
  const escaped = address.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${escaped}">
<title>reducerdb console</title>
</head>
<body><a href="${escaped}">Open the console</a></body>
</html>
`;
}

/** By a process of its own: a browser may take a while to read the page, and a command ends. */
function deleteLater(folder: string, millis: number): void {
  const script =
    'setTimeout(() => require("node:fs").rmSync(process.argv[1], ' +
    '{ recursive: true, force: true }), Number(process.argv[2]))';
  const child = spawn(process.execPath, ['-e', script, folder, String(millis)], {
    stdio: 'ignore',
    detached: true,
    windowsHide: true,
    cwd: tmpdir(),
    env: {},
  });
  child.once('error', () => rmSync(folder, { recursive: true, force: true }));
  child.unref();
}

function opens(address: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
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
