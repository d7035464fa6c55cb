import { type ComponentType, lazy, Suspense } from 'react';
import { Empty, Loading } from '../parts/state.tsx';
import { FailureBoundary } from './failure-boundary.tsx';
import type { PageEntry, PageProps } from './page-entry.ts';
import { Link, pageAddress } from './router.tsx';

const loaded = new Map<string, ComponentType<PageProps>>();

/** Loads a page when it is opened, and shows it. */
export function PageView(props: { page: PageEntry | undefined; database: string | null }) {
  const { page, database } = props;
  if (page === undefined) {
    return (
      <Empty
        icon="search"
        title="This page does not exist"
        actions={<Link to={pageAddress(null, '')}>All databases</Link>}
      >
        This service has no page at this address, or cannot do what it shows.
      </Empty>
    );
  }
  const Page = componentOf(page);
  return (
    <FailureBoundary key={`${page.id} ${database}`}>
      <Suspense fallback={<Loading label={`Loading ${page.title}`} />}>
        <Page database={database ?? ''} />
      </Suspense>
    </FailureBoundary>
  );
}

function componentOf(page: PageEntry): ComponentType<PageProps> {
  const known = loaded.get(page.id);
  if (known !== undefined) return known;
  const component = lazy(async () => {
    const { Page } = await page.load();
    return { default: Page };
  });
  loaded.set(page.id, component);
  return component;
}
