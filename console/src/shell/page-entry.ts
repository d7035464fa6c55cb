import type { ComponentType } from 'react';
import type { IconName } from '../parts/icon.tsx';

/** What a page is given. */
export interface PageProps {
  /** The database of the address; empty for pages of the host. */
  readonly database: string;
}

/** A page of the console: one line in `pages/pages.ts`. */
export interface PageEntry {
  readonly id: string;
  readonly title: string;
  readonly icon: IconName;
  /** Of the whole host, or of one database. */
  readonly scope: 'host' | 'database';
  /** The heading of the navigation that it stands under. */
  readonly group: string;
  /** The last segment of its address. */
  readonly path: string;
  /** What the service has to be able to do, as `/v1/service` names it. */
  readonly feature?: string;
  /** The right that it needs, as `/v1/database/:db/rights` names it. */
  readonly right?: string;
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>;
}
