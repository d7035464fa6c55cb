import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openBrowser } from './open-browser.ts';

const address = 'http://127.0.0.1:3000/console/db/a%22b#code=secret&"x"';

it('[cli 3.6] names a page for this user alone in the arguments, and deletes it', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-browser-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [browser, seen] = [path.join(folder, 'browser'), path.join(folder, 'seen')];
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > ${seen}\n`);
  chmodSync(browser, 0o700);
  expect(await openBrowser(address, { BROWSER: browser }, 1_500)).toBe(true);
  const words = readFileSync(seen, 'utf8').trim();
  expect(words).toMatch(/^file:\/\/\S+\/console\.html$/);
  const page = fileURLToPath(words);
  expect(statSync(page).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(page)).mode & 0o777).toBe(0o700);
  expect(readFileSync(page, 'utf8')).toContain(
    'content="0; url=http://127.0.0.1:3000/console/db/a%22b#code=secret&#38;&#34;x&#34;"',
  );
  await vi.waitFor(() => expect(existsSync(path.dirname(page))).toBe(false), 30_000);
});

it('[cli 3.6] leaves no page where no browser opens', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-browser-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [browser, seen] = [path.join(folder, 'browser'), path.join(folder, 'seen')];
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > ${seen}\nexit 3\n`);
  chmodSync(browser, 0o700);
  expect(await openBrowser(address, { BROWSER: browser })).toBe(false);
  const page = fileURLToPath(readFileSync(seen, 'utf8').trim());
  expect(existsSync(path.dirname(page))).toBe(false);
});
