export { type ClusterStatus, type ClusterStatusOptions, clusterStatus } from './cluster-status.js';
export { incusRoot } from './install-incus.js';
export {
  type JoinClusterOptions,
  type JoinedCluster,
  joinWithToken as joinCluster,
} from './join-with-token.js';
export {
  findTrialCluster,
  startTrialCluster,
  stopTrialCluster,
  type TrialOptions,
  type TrialStartOptions,
} from './trial-cluster.js';
