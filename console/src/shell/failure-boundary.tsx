import { Component, type ReactNode } from 'react';
import { Failure } from '../parts/state.tsx';
import { serviceErrorOf } from '../service/load.ts';

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: unknown;
}

/** Shows what a page threw in its place; the rest of the console goes on. */
export class FailureBoundary extends Component<Props, State> {
  override readonly state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    const retry = () => this.setState({ error: null });
    return <Failure error={serviceErrorOf(this.state.error)} onRetry={retry} />;
  }
}
