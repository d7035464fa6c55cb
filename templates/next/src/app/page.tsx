import { Live } from '../live';

// Rendered on the server. What lives in the browser, with its connection, is in src/live.tsx.
export default function Page() {
  return (
    <main>
      <Live title="{{name}}" />
      <p className="hint">
        Open this page in a second window. The database is <code>module/src/index.ts</code>, the
        page is <code>src/app/page.tsx</code>: save either one.
      </p>
    </main>
  );
}
