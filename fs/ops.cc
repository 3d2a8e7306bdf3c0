#include "fs/ops.h"

#include <exception>

#include "fs/connection.h"
#include "schema/base/log.h"

namespace ebla::fs::ops {
namespace {

// An exception here means a bug or no memory. The request answers EIO when it goes, the loop lives.
template <Op kOp, auto kHandler>
struct Guard;

template <Op kOp, class... A, void (*kHandler)(Request&, A...)>
struct Guard<kOp, kHandler> {
  static void call(fuse_req_t req, A... arguments) {
    try {
      Request request(req);
      request.served().shared.counters.count(kOp);
      kHandler(request, arguments...);
    } catch (const std::exception& error) {
      log::error("{}: {}", op_name(kOp), error.what());
    }
  }
};

// libfuse wants what we refuse to be cleared: it turns on all that it knows.
void init(void* userdata, fuse_conn_info* conn) {
  Served& served = static_cast<Connection*>(userdata)->served();
  served.shared.counters.count(Op::init);
  served.lists_without_opendir = (conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  constexpr unsigned kWanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_DIO |
                               FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                               FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS;
  conn->want = conn->capable & kWanted;
  conn->time_gran = 1;
}

constexpr fuse_lowlevel_ops make_table() {
  fuse_lowlevel_ops t = {};
  t.init = init;
  t.lookup = Guard<Op::lookup, &lookup>::call;
  t.forget = Guard<Op::forget, &forget>::call;
  t.forget_multi = Guard<Op::forget, &forget_multi>::call;
  t.getattr = Guard<Op::getattr, &getattr>::call;
  t.setattr = Guard<Op::setattr, &setattr>::call;
  t.readlink = Guard<Op::readlink, &readlink>::call;
  t.mknod = Guard<Op::mknod, &mknod>::call;
  t.mkdir = Guard<Op::mkdir, &mkdir>::call;
  t.unlink = Guard<Op::unlink, &unlink>::call;
  t.rmdir = Guard<Op::rmdir, &rmdir>::call;
  t.symlink = Guard<Op::symlink, &symlink>::call;
  t.rename = Guard<Op::rename, &rename>::call;
  t.link = Guard<Op::link, &link>::call;
  t.open = Guard<Op::open, &open>::call;
  t.read = Guard<Op::read, &read>::call;
  t.write = Guard<Op::write, &write>::call;
  t.flush = Guard<Op::flush, &flush>::call;
  t.release = Guard<Op::release, &release>::call;
  t.fsync = Guard<Op::fsync, &fsync>::call;
  t.opendir = Guard<Op::opendir, &opendir>::call;
  t.readdir = Guard<Op::readdir, &readdir>::call;
  t.readdirplus = Guard<Op::readdirplus, &readdirplus>::call;
  t.releasedir = Guard<Op::releasedir, &releasedir>::call;
  t.fsyncdir = Guard<Op::fsyncdir, &fsyncdir>::call;
  t.statfs = Guard<Op::statfs, &statfs>::call;
  t.setxattr = Guard<Op::setxattr, &setxattr>::call;
  t.getxattr = Guard<Op::getxattr, &getxattr>::call;
  t.listxattr = Guard<Op::listxattr, &listxattr>::call;
  t.removexattr = Guard<Op::removexattr, &removexattr>::call;
  t.access = Guard<Op::access, &access>::call;
  t.create = Guard<Op::create, &create>::call;
  t.fallocate = Guard<Op::fallocate, &fallocate>::call;
  t.copy_file_range = Guard<Op::copy_file_range, &copy_file_range>::call;
  t.lseek = Guard<Op::lseek, &lseek>::call;
  return t;
}

constinit const fuse_lowlevel_ops kTable = make_table();

}  // namespace

const fuse_lowlevel_ops& table() {
  return kTable;
}

}  // namespace ebla::fs::ops
