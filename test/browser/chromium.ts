import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const programFiles = [process.env.ProgramFiles, process.env['ProgramFiles(x86)']];

/** Where browsers of this family usually are. */
const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/usr/bin/microsoft-edge',
  '/snap/bin/chromium',
  '/opt/google/chrome/chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ...programFiles.flatMap((folder) =>
    folder === undefined
      ? []
      : [
          `${folder}\\Google\\Chrome\\Application\\chrome.exe`,
          `${folder}\\Microsoft\\Edge\\Application\\msedge.exe`,
        ],
  ),
];

/** The browser to drive: the one that `CHROMIUM` names, else the first one that is installed. */
export function findChromium(): string | undefined {
  const { CHROMIUM } = process.env;
  if (CHROMIUM !== undefined && CHROMIUM !== '') return CHROMIUM;
  return usualPlaces.find((place) => existsSync(place));
}

/** For the log of a run that could not use one. */
export const howToInstall =
  'no Chromium, Chrome or Edge found: install one (on Debian: apt-get install chromium), or name ' +
  'one by the variable CHROMIUM';

/** A browser process of its own, with nothing of anybody in it. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** What a page says is wrong, but for connections that nobody took: those the test has cut. */
export function troublesOf(page: Page): string[] {
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(String(error)));
  page.on('console', (message) => {
    const isTrouble = ['error', 'warning'].includes(message.type());
    const isCut = /ERR_CONNECTION_(REFUSED|RESET|CLOSED)/.test(message.text());
    if (isTrouble && !isCut) troubles.push(message.text());
  });
  return troubles;
}
