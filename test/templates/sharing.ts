import { expect } from 'vitest';
import { DevProcess } from './dev-process.ts';
import type { Stranger } from './packed.ts';
import { Windows } from './windows.ts';

/** A project whose `npm run dev` runs. */
export interface RunningProject {
  readonly stranger: Stranger;
  readonly folder: string;
  readonly dev: DevProcess;
}

/** Notes: what one window writes, likes and removes, the other shows. */
export async function sharesNotes({ dev }: RunningProject): Promise<void> {
  const windows = await Windows.open(await dev.page());
  const { one, other } = windows;
  for (const page of windows.pages) {
    await page.getByText('2 windows open').waitFor();
    // Of seed.ts.
    await page.getByText('Every window that shows it sees the same rows.').waitFor();
  }
  await one.getByLabel('Note').fill('written in one window');
  await one.getByRole('button', { name: 'Add' }).click();
  const [here, there] = windows.pages.map((page) => {
    return page.locator('.notes li', { hasText: 'written in one window' });
  });
  await there?.getByRole('button', { name: 'Like' }).click();
  await here?.getByText('♥ 1').waitFor();
  await here?.getByRole('button', { name: 'Remove' }).click();
  await there?.waitFor({ state: 'detached' });
  expect(await one.getByLabel('Note').inputValue()).toBe('');
  await one.getByRole('button', { name: 'Add' }).click();
  await one.getByText('a note needs a text').waitFor();
  await other.close();
  await one.getByText('1 window open').waitFor();
  await windows.close();
}

/** The page as it is published, under a name that the project has nowhere. */
export async function sharesPublished({ stranger, folder }: RunningProject): Promise<void> {
  await stranger.run(folder, 'npm', 'run', 'build');
  const publish = ['reducerdb', 'publish', 'guest-book', '--static', 'dist', '--yes'];
  const said = await stranger.run(folder, 'npx', ...publish);
  const windows = await Windows.open(/http:\/\/guest-book\.\S+/.exec(said)?.[0] ?? said);
  for (const page of windows.pages) await page.getByText('2 windows open').waitFor();
  await windows.one.getByLabel('Note').fill('published');
  await windows.one.getByRole('button', { name: 'Add' }).click();
  await windows.other.locator('.notes li', { hasText: 'published' }).waitFor();
  await windows.close();
}

/** The game: each window is a player, and both show the score of one that takes a coin. */
export async function sharesGame({ dev }: RunningProject): Promise<void> {
  const windows = await Windows.open(await dev.page());
  const { one, other } = windows;
  for (const page of windows.pages) await page.getByText('2 players').waitFor();
  await one.bringToFront();
  const box = await one.locator('canvas').boundingBox();
  if (box === null) throw new Error('the page has no canvas');
  // A coin of seed.ts lies at 960, 450 of 1600 by 900. The pointer leads the player there.
  await one.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await one.mouse.down();
  for (const page of windows.pages) {
    await page.locator('.scores li').first().getByText(/[1-9]/).waitFor();
  }
  await one.mouse.up();
  await other.close();
  await one.getByText('1 player', { exact: true }).waitFor();
  await windows.close();
}

/** Questions: both windows show what one asks; if `answers`, also what the agent writes. */
export async function sharesQuestions(project: RunningProject, answers: boolean): Promise<void> {
  const { dev } = project;
  const windows = await Windows.open(await dev.page());
  const { one, other } = windows;
  for (const page of windows.pages) await page.getByText('When do you open?').waitFor();
  await one.getByLabel('Question').fill('Can I return it?');
  await one.getByRole('button', { name: 'Ask' }).click();
  await other.getByText('Can I return it?').waitFor();
  expect(await other.getByText('waiting for the agent').count()).toBe(3);
  if (answers) await seesAgent(project, windows);
  await windows.close();
}

/** Both windows show what the agent answers, to what was asked before and to what is asked then. */
async function seesAgent({ folder, stranger }: RunningProject, windows: Windows): Promise<void> {
  const agent = new DevProcess('npm run agent', folder, stranger.environment);
  try {
    for (const page of windows.pages) {
      await page.getByText('We open at nine').waitFor();
      await page.getByText('within 30 days').waitFor();
      await page.getByText('waiting for the agent').waitFor({ state: 'detached' });
    }
    await windows.other.getByLabel('Question').fill('What is the meaning of life?');
    await windows.other.getByRole('button', { name: 'Ask' }).click();
    await windows.one.getByText('I do not know.').waitFor();
  } finally {
    await agent.stop();
  }
}

/** The program: it prints rows of the seed, and what programs in other terminals write. */
export async function printsRows({ dev, folder, stranger }: RunningProject): Promise<void> {
  await dev.says(/\+ note 2: Add one in a second terminal\. \(♥ 0\)/);
  const second = new DevProcess('npm start', folder, stranger.environment);
  try {
    await second.says(/\+ note 1: This is a row of a table/);
    await dev.says(/2 programs connected/);
    await stranger.run(folder, 'npm', 'run', 'say', '--', 'hello there');
    await dev.says(/\+ note 3: hello there/);
    await second.says(/\+ note 3: hello there/);
    await expect(stranger.run(folder, 'npm', 'run', 'say')).rejects.toThrow('a note needs a text');
  } finally {
    await second.stop();
  }
}
