/**
 * Starts services from code and connects to them: the entry `reducerdb` in Node. Modules import
 * `reducerdb/server`.
 *
 * @module
 */

export * from '../client/root.ts';
export {
  ConfigurationError,
  type ListenAddress,
  type ServiceConfiguration,
} from './configuration.ts';
export { type Service, startService } from './start-service.ts';
