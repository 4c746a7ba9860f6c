// One opener per directory. Case 43 of the public bug reports, as far as the lock goes.
#include "io/dir_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace wq {
namespace {

namespace fs = std::filesystem;

class DirLockTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(directory_);
  }
  std::string directory_;
};

// A child that runs `body` with a pipe to report through; killed or waited for by the test.
struct Child {
  pid_t pid = -1;
  int from_child = -1;

  // Blocks until the child reports one byte.
  char read_byte() const {
    char byte = 0;
    return ::read(from_child, &byte, 1) == 1 ? byte : '\0';
  }
  int kill_and_wait() {
    ::kill(pid, SIGKILL);
    return wait_exit();
  }
  int wait_exit() {
    int status = 0;
    ::waitpid(pid, &status, 0);
    ::close(from_child);
    return status;
  }
};

template <typename Body>
Child start_child(const Body& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Child child;
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    body(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  child.from_child = ends[0];
  return child;
}

void report(int fd, char byte) {
  if (::write(fd, &byte, 1) != 1) ::_exit(9);
}

// Takes the lock in a child, which holds it until it is killed.
Child hold_in_child(const std::string& directory) {
  Child child = start_child([&](int fd) {
    const auto lock = acquire_dir_lock(directory);
    report(fd, lock.ok() ? 'y' : 'n');
    while (true) ::pause();
  });
  EXPECT_EQ(child.read_byte(), 'y');
  return child;
}

using Snapshot = std::map<std::string, std::pair<int64_t, std::string>>;

// Modification times and contents of all files, and the directory's own time.
Snapshot snapshot(const std::string& directory) {
  Snapshot seen;
  const auto add = [&](const std::string& path, const std::string& contents) {
    struct stat info {};
    ::stat(path.c_str(), &info);
    seen[path] = {info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, contents};
  };
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream file(entry.path());
    add(entry.path(), std::string(std::istreambuf_iterator<char>(file), {}));
  }
  add(directory, "");
  return seen;
}

TEST_F(DirLockTest, Case43SecondProcessIsRefusedWithTheOwnersPidAndWritesNothing) {
  Child owner = hold_in_child(directory_);
  const Snapshot before = snapshot(directory_);
  const auto refused = acquire_dir_lock(directory_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::locked);
  EXPECT_NE(refused.status().message().find("process " + std::to_string(owner.pid) + ";"),
            std::string::npos)
      << refused.status().message();
  EXPECT_EQ(snapshot(directory_), before);
  // A killed owner leaves its LOCK file, which blocks nobody.
  owner.kill_and_wait();
  EXPECT_TRUE(fs::exists(directory_ + "/LOCK"));
  const auto lock = acquire_dir_lock(directory_);
  EXPECT_TRUE(lock.ok()) << lock.status().message();
}

TEST_F(DirLockTest, Case43SameProcessTwiceIsRefused) {
  {
    const auto first = acquire_dir_lock(directory_);
    ASSERT_TRUE(first.ok()) << first.status().message();
    const Snapshot before = snapshot(directory_);
    const auto second = acquire_dir_lock(directory_);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), Code::locked);
    EXPECT_NE(second.status().message().find("(this one)"), std::string::npos);
    EXPECT_NE(second.status().message().find(std::to_string(::getpid())), std::string::npos);
    EXPECT_EQ(snapshot(directory_), before);
  }
  EXPECT_TRUE(acquire_dir_lock(directory_).ok()) << "given back by destruction";
}

TEST_F(DirLockTest, Case43OtherPathsToTheSameDirectoryAreRefused) {
  const auto first = acquire_dir_lock(directory_);
  ASSERT_TRUE(first.ok());
  const std::string link = directory_ + ".link";
  fs::remove(link);
  fs::create_directory_symlink(directory_, link);
  EXPECT_EQ(acquire_dir_lock(link).status().code(), Code::locked);
  EXPECT_EQ(acquire_dir_lock(directory_ + "/").status().code(), Code::locked);
  EXPECT_EQ(acquire_dir_lock(directory_ + "/../" + fs::path(directory_).filename().string())
                .status()
                .code(),
            Code::locked);
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(directory_).parent_path());
  EXPECT_EQ(acquire_dir_lock(fs::path(directory_).filename()).status().code(), Code::locked);
  fs::current_path(before);
  // The kernel says so, too, without the registry of this process.
  const int fd = ::open((link + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_NE(::flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(errno, EWOULDBLOCK);
  ::close(fd);
  fs::remove(link);
}

TEST_F(DirLockTest, Case43BindMountsAreRefused) {
  const std::string bind = directory_ + ".bind";
  fs::create_directories(bind);
  Child child = start_child([&](int fd) {
    // Its own mount namespace, so that nothing is left behind.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(directory_.c_str(), bind.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      report(fd, 's');
      return;
    }
    const auto first = acquire_dir_lock(directory_);
    const auto second = acquire_dir_lock(bind);
    const bool right = first.ok() && second.status().code() == Code::locked;
    report(fd, right ? 'y' : 'n');
  });
  const char answer = child.read_byte();
  child.wait_exit();
  if (answer == 's') GTEST_SKIP() << "this process may not mount";
  EXPECT_EQ(answer, 'y');
}

TEST_F(DirLockTest, Case43PidReuseDoesNotMatter) {
  // A left-over file that names a living process: this one.
  std::ofstream(directory_ + "/LOCK") << "pid " << ::getpid() << " start_ticks 1\n";
  EXPECT_TRUE(acquire_dir_lock(directory_).ok());
  std::ofstream(directory_ + "/LOCK") << "\xff\xfe garbage";
  EXPECT_TRUE(acquire_dir_lock(directory_).ok());
}

TEST_F(DirLockTest, OtherDirectoriesAreFree) {
  fs::create_directories(directory_ + "/a");
  fs::create_directories(directory_ + "/b");
  const auto a = acquire_dir_lock(directory_ + "/a");
  const auto b = acquire_dir_lock(directory_ + "/b");
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(b.ok());
}

TEST_F(DirLockTest, MissingDirectoryIsNotFound) {
  EXPECT_EQ(acquire_dir_lock(directory_ + "/none").status().code(), Code::not_found);
  std::ofstream(directory_ + "/file") << "x";
  EXPECT_EQ(acquire_dir_lock(directory_ + "/file").status().code(), Code::not_found);
}

// The owner's line would be written over what it leads to.
TEST_F(DirLockTest, ALinkInThePlaceOfTheLockIsNotFollowed) {
  std::ofstream(directory_ + "/precious") << "much";
  fs::create_symlink(directory_ + "/precious", directory_ + "/LOCK");
  EXPECT_EQ(acquire_dir_lock(directory_).status().code(), Code::io);
  EXPECT_EQ(fs::file_size(directory_ + "/precious"), 4u);
}

// flock() belongs to all copies of a descriptor. A child that lives on has none of them: it can do
// nothing with the store, and whoever opens it next need not wait for the child.
TEST_F(DirLockTest, AForkedChildKeepsNoLock) {
  auto lock = acquire_dir_lock(directory_);
  ASSERT_TRUE(lock.ok());
  Child child = start_child([&](int fd) {
    report(fd, 'y');
    while (true) ::pause();
  });
  ASSERT_EQ(child.read_byte(), 'y');
  EXPECT_EQ(acquire_dir_lock(directory_).status().code(), Code::locked) << "its owner has it still";
  std::move(lock).value().reset();
  EXPECT_TRUE(acquire_dir_lock(directory_).ok());
  child.kill_and_wait();
}

// The owner is killed, and leaves a child.
TEST_F(DirLockTest, NorDoesTheChildOfAnOwnerThatDied) {
  int orphan[2];
  ASSERT_EQ(::pipe(orphan), 0);
  Child owner = start_child([&](int fd) {
    const auto held = acquire_dir_lock(directory_);
    if (::fork() == 0) {
      ::close(orphan[1]);
      report(fd, held.ok() ? 'y' : 'n');
      char byte = 0;
      ::_exit(::read(orphan[0], &byte, 1) == 0 ? 0 : 1);  // until the test closes its end
    }
    while (true) ::pause();
  });
  ASSERT_EQ(owner.read_byte(), 'y');
  EXPECT_EQ(acquire_dir_lock(directory_).status().code(), Code::locked);
  owner.kill_and_wait();
  EXPECT_TRUE(acquire_dir_lock(directory_).ok());
  ::close(orphan[0]);
  ::close(orphan[1]);
}

TEST_F(DirLockTest, LockIsDroppedByExec) {
  for (int round = 0; round < 2; ++round) {  // the file is made, then found
    const auto lock = acquire_dir_lock(directory_);
    ASSERT_TRUE(lock.ok());
    // No descriptor of LOCK is inherited over exec.
    std::FILE* const pipe = ::popen("ls -l /proc/self/fd | grep -c LOCK", "r");
    ASSERT_NE(pipe, nullptr);
    int count = -1;
    EXPECT_EQ(std::fscanf(pipe, "%d", &count), 1);
    ::pclose(pipe);
    EXPECT_EQ(count, 0);
  }
}

}  // namespace
}  // namespace wq
