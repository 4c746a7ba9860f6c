#!/usr/bin/perl
# demo_handler.pl OUTPUT [STOP_AFTER MARK]: a handler for wq work --lines tab.
#
# Appends "ID <tab> PAYLOAD" of each job to OUTPUT, has the device take it (fsync), and only then
# answers ok. It reads whatever lines are there and flushes once for all of them.
#
# With STOP_AFTER it stops after so many lines: it makes the file MARK.<process id> and waits for the
# worker to be killed, without an answer for what it read last: those lines are handled and not acked.
use strict;
use warnings;
use Fcntl qw(O_WRONLY O_CREAT O_EXCL O_APPEND);
use IO::Handle;

my ($output, $stop_after, $mark) = @ARGV;
my $worker = getppid();
sysopen(my $out, $output, O_WRONLY | O_CREAT | O_APPEND) or die "$output: $!\n";

sub write_all {
  my ($file, $text) = @_;
  while (length $text) {
    my $count = syswrite($file, $text);
    die "write: $!\n" unless defined $count;
    substr($text, 0, $count, '');
  }
}

my ($buffer, $written) = ('', 0);
# What is left in $buffer at the end is a line that was cut when the worker died: no job.
while (sysread(STDIN, $buffer, 1 << 16, length $buffer)) {
  my $end = rindex($buffer, "\n");
  next if $end < 0;
  my @jobs = split /(?<=\n)/, substr($buffer, 0, $end + 1, '');
  my $stops = defined $mark && $written + @jobs >= $stop_after;
  splice(@jobs, $stop_after - $written) if $stops;
  my $text = '';
  for my $job (@jobs) {
    my ($id, $generation, $attempt, $payload) = split /\t/, $job, 4;
    $text .= "$id\t$payload";
  }
  write_all($out, $text);
  $out->sync or die "$output: $!\n";
  $written += @jobs;
  if ($stops) {
    sysopen(my $file, "$mark.$$", O_WRONLY | O_CREAT | O_EXCL) or die "$mark.$$: $!\n";
    select(undef, undef, undef, 0.01) while getppid() == $worker;
    exit 0;
  }
  write_all(*STDOUT, "ok\n" x @jobs);
}
