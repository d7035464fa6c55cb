import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { uriOf } from './address.ts';

/** A page of this version's guide. */
export interface GuidePage {
  /** File name without the extension. */
  readonly name: string;
  readonly title: string;
  /** Its first sentence. */
  readonly summary: string;
  /** Markdown. */
  readonly text: string;
}

/** The guide that comes with the package, read on first use. */
export class GuidePages {
  readonly #directory: string;
  #pages: Promise<ReadonlyMap<string, GuidePage>> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the pages by name, in the order of the guide. */
  all(): Promise<ReadonlyMap<string, GuidePage>> {
    this.#pages ??= readPages(this.#directory);
    return this.#pages;
  }
}

/** Reads the pages; a package built without the guide has none, and everything else works. */
async function readPages(directory: string): Promise<ReadonlyMap<string, GuidePage>> {
  const all = existsSync(directory) ? await readdir(directory) : [];
  const files = all.filter((file) => file.endsWith('.md')).sort();
  const pages = files.map(async (file) => {
    const text = await readFile(path.join(directory, file), 'utf8');
    return pageOf(file.slice(0, -'.md'.length), text);
  });
  return new Map((await Promise.all(pages)).map((page) => [page.name, page]));
}

function pageOf(name: string, text: string): GuidePage {
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name;
  const paragraphs = text.split(/\n{2,}/).filter((part) => /^[A-Z`]/.test(part));
  return { name, title, summary: firstSentence(paragraphs[0] ?? ''), text: withAddresses(text) };
}

/** Replaces links to other pages with their resource addresses. */
function withAddresses(text: string): string {
  return text.replace(
    /\]\(([a-z-]+)\.md(#[^)]*)?\)/g,
    (_link, page: string) => `](${uriOf({ kind: 'page', page })})`,
  );
}

/** Returns the first sentence without line breaks, and with links reduced to their text. */
function firstSentence(paragraph: string): string {
  const plain = paragraph.replace(/\s+/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain;
}
